const TAB = 9;
const LINE_END = 10;
const ZERO = 48;

/**
 * Reads what `h2load --log-file` wrote: a line a request, of start time, HTTP status and microseconds until the answer
 * had ended, between tabs. Gives the microseconds, in ascending order. A log ends in the middle of a line when h2load
 * was killed; that line is left out.
 */
export function readRequestLog(log: Uint8Array): Uint32Array {
  const durations = new Uint32Array(countLines(log));
  let count = 0;
  let column = 0;
  let value = 0;
  for (const octet of log) {
    if (octet === LINE_END) {
      if (column !== 2) throw new Error(`line ${count + 1} of the request log has not three columns`);
      durations[count++] = value;
      column = 0;
      value = 0;
    } else if (octet === TAB) {
      column++;
      value = 0;
    } else value = value * 10 + (octet - ZERO);
  }
  return durations.subarray(0, count).sort();
}

function countLines(log: Uint8Array): number {
  let lines = 0;
  for (const octet of log) if (octet === LINE_END) lines++;
  return lines;
}
