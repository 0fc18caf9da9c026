import type { Commands } from '../../design/change-form.tsx';

interface CommandCall {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below `/api/v1`. */
  readonly path: string;
  readonly body?: unknown;
  /** In place of `body`: JSON text whose numbers must stay as they are written. */
  readonly text?: string;
}

/** @param words of the command after `sluice tasks`; null without a command */
export function commandsOf(words: readonly string[] | null, call: CommandCall): Commands {
  const { method, path, body, text = body === undefined ? undefined : JSON.stringify(body) } = call;
  const verb = method === 'POST' ? '' : `-X ${method} `;
  const sent = text === undefined ? '' : ` \\\n  -H 'Content-Type: application/json' -d ${quoted(text)}`;
  return {
    sluice: words && `SLUICE_URL=${quoted(location.origin)} sluice tasks ${words.map(quoted).join(' ')}`,
    curl: `curl ${verb}${quoted(`${location.origin}/api/v1${path}`)} \\\n  -H "Authorization: Bearer $SLUICE_TOKEN"${
      method === 'POST' && text === undefined ? " \\\n  -d ''" : sent
    }`,
  };
}

/** Quotes a word for a POSIX shell, if it needs quotes. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
