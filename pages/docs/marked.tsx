/** A paragraph in which text between backticks is code. */
export function Marked({ text }: { readonly text: string }) {
  return (
    <p class="marked">
      {text.split('`').map((part, i) => (i % 2 === 0 ? part : <code key={i}>{part}</code>))}
    </p>
  );
}
