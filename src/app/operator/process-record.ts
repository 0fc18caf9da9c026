import { excerpt } from '../../base/printable.ts';
import type { ProcessView } from '../../transports/debug/operator/status-routes.ts';

const MAX_RECORD_BYTES = 1_024;

/** Maximum number of characters of a reason in a record. The process itself has all of it. */
const MAX_REASON_CHARACTERS = 300;

/**
 * The record of a process for the other processes.
 *
 * @param nowMs the time of Redis
 */
export function recordText(process: ProcessView, nowMs: number): string {
  const { rules_error: error } = process;
  const seen = new Date(nowMs).toISOString();
  const record = {
    ...process,
    seen,
    rules_error: error === null ? null : excerpt(error, MAX_REASON_CHARACTERS),
  };
  const text = JSON.stringify(record);
  // A long host name, and a reason of which many characters are escaped.
  return text.length <= MAX_RECORD_BYTES ? text : JSON.stringify({ ...record, rules_error: '' });
}

/**
 * Reads a record that a process wrote. Fields that the version of that process did not write are null.
 *
 * @returns null if the text is not a record
 */
export function readRecord(id: string, text: string): ProcessView | null {
  if (text.length > MAX_RECORD_BYTES) return null;
  try {
    const { host, pid, started, seen, version, ...more } = JSON.parse(text);
    const isText = [host, started, seen, version].every(each => typeof each === 'string');
    if (!isText || !Number.isInteger(pid) || Number.isNaN(Date.parse(seen))) return null;
    return {
      id,
      host,
      pid,
      started,
      seen,
      version,
      hits_per_second: numberOrNull(more.hits_per_second),
      rejected_per_second: numberOrNull(more.rejected_per_second),
      rules_loaded: textOrNull(more.rules_loaded),
      rules_digest: textOrNull(more.rules_digest),
      rules_error: textOrNull(more.rules_error),
      is_this: false,
    };
  } catch {
    return null;
  }
}

function numberOrNull(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
