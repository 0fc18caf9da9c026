import { asError, Fault } from '../../../base/fault.ts';

/** Primary result codes of SQLite (https://www.sqlite.org/rescode.html). */
const PRIMARY = {
  busy: 5,
  noMemory: 7,
  readOnly: 8,
  io: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  notADatabase: 26,
} as const;

/** What to do about it, for those that lie outside of the program. */
const ADVICE: Readonly<Record<number, string>> = {
  [PRIMARY.busy]: 'another process has held the write lock for too long',
  [PRIMARY.noMemory]: 'there is no memory left',
  [PRIMARY.readOnly]:
    'the file cannot be written: see its owner, its mode and how the file system is mounted',
  [PRIMARY.io]: 'reading or writing the file failed: see the log of the system',
  [PRIMARY.corrupt]: 'the file is damaged or torn: restore it from a backup',
  [PRIMARY.full]: 'the disk is full: make room',
  [PRIMARY.cannotOpen]: 'the file cannot be opened: see the path, and the rights on its directory',
  [PRIMARY.notADatabase]: 'the file is no SQLite database',
};

/** After these the connection is given up, because what it knows of the file may not hold any more. */
const REOPENED: readonly number[] = [
  PRIMARY.readOnly,
  PRIMARY.io,
  PRIMARY.corrupt,
  PRIMARY.cannotOpen,
  PRIMARY.notADatabase,
];

/** The primary result code; null when it is not SQLite that failed. */
function primaryCode(thrown: unknown): number | null {
  const code = (thrown as { errcode?: unknown } | null)?.errcode;
  return typeof code === 'number' ? code & 0xff : null;
}

/** Whether the reason lies outside of the program, so that every operation would fail, and may work again later. */
export function isEnvironmental(thrown: unknown): boolean {
  const code = primaryCode(thrown);
  return code !== null && code in ADVICE;
}

export function isBusy(thrown: unknown): boolean {
  return primaryCode(thrown) === PRIMARY.busy;
}

export function asksForNewConnection(thrown: unknown): boolean {
  const code = primaryCode(thrown);
  return code !== null && REOPENED.includes(code);
}

/** The fault that callers get. Texts of SQLite name tables and columns, never values. */
export function storeFault(thrown: unknown, path: string): Fault {
  if (thrown instanceof Fault) return thrown;
  const error = asError(thrown);
  const advice = ADVICE[primaryCode(error) ?? -1];
  const text = advice === undefined ? error.message : `${advice} (${error.message})`;
  return new Fault('store_failed', `task store ${path}: ${text}`, { cause: error });
}
