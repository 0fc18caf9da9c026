/**
 * The text with its control characters written as escapes: what a service or a file says must not steer the
 * terminal that shows it.
 */
export function printable(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, char => {
    return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
