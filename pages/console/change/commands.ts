import type { Commands } from '../../design/change-form.tsx';

interface CommandCall {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below `/api/v1`. */
  readonly path: string;
  readonly body?: unknown;
}

/** @param words of the command after `sluice tasks`; null without a command */
export function commandsOf(words: readonly string[] | null, { method, path, body }: CommandCall): Commands {
  const verb = method === 'POST' ? '' : `-X ${method} `;
  const sent =
    body === undefined ? '' : ` \\\n  -H 'Content-Type: application/json' -d ${quoted(JSON.stringify(body))}`;
  return {
    sluice: words && `SLUICE_URL=${quoted(location.origin)} sluice tasks ${words.map(quoted).join(' ')}`,
    curl: `curl ${verb}${quoted(`${location.origin}/api/v1${path}`)} \\\n  -H "Authorization: Bearer $SLUICE_TOKEN"${
      method === 'POST' && body === undefined ? " \\\n  -d ''" : sent
    }`,
  };
}

/** Quotes a word for a POSIX shell, if it needs quotes. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
