import { ApiError } from './call.ts';

/** What is wrong with a change: by field, or as a whole. */
export interface ChangeFaults {
  /** By the name of the field, which is the first part of the JSON pointer. */
  readonly fields: Readonly<Record<string, string>>;
  /** By JSON pointer; absent if the page has found the faults. */
  readonly pointers?: Readonly<Record<string, string>>;
  /** Empty if all faults belong to fields. */
  readonly whole: string;
}

/** No faults. */
export const NO_FAULTS: ChangeFaults = { fields: {}, whole: '' };

/** The fields of problems that are about one field, but have no pointer. */
const FIELDS_OF_CODES: Readonly<Record<string, string>> = { task_key_exists: 'key' };

/** What a call that failed says about a change. */
export function faultsOf(thrown: unknown): ChangeFaults {
  if (!(thrown instanceof ApiError)) return { fields: {}, whole: String(thrown) };
  const fields: Record<string, string> = {};
  const pointers: Record<string, string> = {};
  for (const { pointer = '', detail } of thrown.errors) {
    const [, field = ''] = pointer.split('/');
    if (field === '') continue;
    fields[field] ??= detail;
    pointers[pointer] ??= detail;
  }
  const named = FIELDS_OF_CODES[thrown.code];
  if (named !== undefined) fields[named] ??= thrown.message;
  return { fields, pointers, whole: Object.keys(fields).length === 0 ? thrown.message : '' };
}

/** The first fault of a field within another one, or of its parts. */
export function faultBelow({ pointers = {} }: ChangeFaults, pointer: string): string | undefined {
  const found = Object.keys(pointers).find(each => each === pointer || each.startsWith(`${pointer}/`));
  return found === undefined ? undefined : pointers[found];
}
