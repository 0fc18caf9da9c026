/** Commands that are sent together, and what takes their answers, in order. Text is one character a byte. */
export interface Exchange {
  readonly request: string;
  /** Commands in the request. */
  readonly commands: number;
  /** Takes a line of the answer; true when it is the last one. */
  line(text: string): boolean;
  /** Takes a stored item; only commands that read get any. */
  value(key: string, data: string | null): void;
  /** The connection was lost: no further answer comes. */
  failed(reason: string): void;
}

/** True for the answers by which memcached refuses a command. */
export function isError(line: string): boolean {
  return line === 'ERROR' || line.startsWith('CLIENT_ERROR') || line.startsWith('SERVER_ERROR');
}

/** Decimal text without an exponent; sums of hits may be beyond the numbers that print as digits. */
export function wholeNumber(value: number): string {
  // memcached starts again at 0 beyond 64 bits; a count that stays below is over every limit.
  return String(Math.min(value, Number.MAX_SAFE_INTEGER));
}
