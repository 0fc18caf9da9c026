import { ApiError } from './call.ts';

/** What is wrong with a change: by field, or as a whole. */
export interface ChangeFaults {
  /** By the name of the field, which is the first part of the JSON pointer. */
  readonly fields: Readonly<Record<string, string>>;
  /** Empty if all faults belong to fields. */
  readonly whole: string;
}

/** No faults. */
export const NO_FAULTS: ChangeFaults = { fields: {}, whole: '' };

/** What a call that failed says about a change. */
export function faultsOf(thrown: unknown): ChangeFaults {
  if (!(thrown instanceof ApiError)) return { fields: {}, whole: String(thrown) };
  const fields: Record<string, string> = {};
  for (const { pointer = '', detail } of thrown.errors) {
    const [, field = ''] = pointer.split('/');
    if (field !== '') fields[field] ??= detail;
  }
  return { fields, whole: Object.keys(fields).length === 0 ? thrown.message : '' };
}
