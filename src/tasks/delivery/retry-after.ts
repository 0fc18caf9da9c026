/** The longest time that a worker can put off. */
const LONGEST_MS = 86_400_000;

/** The three forms of a date in HTTP (RFC 9110, section 5.6.7). `Date.parse` alone finds a date in nearly any text. */
const DATES = [
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]+day, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
];
/** The last one does not name its zone, which is UTC. */
const DATE_WITHOUT_ZONE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;

/**
 * Reads `Retry-After`: seconds, or a date.
 *
 * @returns milliseconds from now, from 0 to those of a day; null when it is neither
 */
export function retryAfterMs(text: string, nowMs: number): number | null {
  const trimmed = text.trim();
  if (/^\d+$/.test(trimmed)) return Math.min(Number(trimmed) * 1000, LONGEST_MS);
  const at = dateMs(trimmed);
  return Number.isNaN(at) ? null : Math.min(Math.max(at - nowMs, 0), LONGEST_MS);
}

function dateMs(text: string): number {
  if (DATES.some(form => form.test(text))) return Date.parse(text);
  return DATE_WITHOUT_ZONE.test(text) ? Date.parse(`${text} GMT`) : Number.NaN;
}
