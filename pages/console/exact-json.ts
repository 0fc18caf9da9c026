/** A number as it is written, because numbers of JavaScript cannot hold all that JSON can say. */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Reads JSON and keeps how its numbers are written, where the browser can tell. */
export function parseExactly(text: string): unknown {
  return JSON.parse(text, keepNumber);
}

/** Older browsers do not pass the source of a value. */
function keepNumber(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  return typeof value === 'number' ? new ExactNumber(context?.source ?? String(value)) : value;
}

/** JSON with one value a line, indented by two spaces. Numbers are those of {@link parseExactly}. */
export function prettyJson(value: unknown, indent = ''): string {
  if (value instanceof ExactNumber) return value.text;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const inner = `${indent}  `;
  const parts = Array.isArray(value)
    ? value.map(each => prettyJson(each, inner))
    : Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${prettyJson(each, inner)}`);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return parts.length === 0
    ? `${open}${close}`
    : `${open}\n${inner}${parts.join(`,\n${inner}`)}\n${indent}${close}`;
}
