/** No character of these means anything to a shell. */
const PLAIN = /^[\w@%+=:,./-]+$/;

/** Commands for a shell that set these variables. What a service says goes into `eval`: none of it may be run. */
export function shellExports(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .map(([name, value]) => `export ${name}=${PLAIN.test(value) ? value : quoted(value)}\n`)
    .join('');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
