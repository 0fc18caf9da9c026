/** What a duration looks like as text: `90s`, `1h30m`, `250ms` (specification 3.0). */
const DURATION_PATTERN = /^(?:\d+(?:ms|s|m|h|d))+$/;

/** What a fault says is accepted. */
export const DURATION_ACCEPTED =
  'a duration such as "90s" or "1h30m" (units ms, s, m, h, d), or a number of seconds';

/** Longer texts are refused unread. */
const MAX_TEXT_LENGTH = 64;
/** Some 3000 years: further than any bound on a duration, and far from where numbers lose milliseconds. */
const MAX_MS = 1e14;

/** The largest first. */
const UNITS = [
  { name: 'd', ms: 86_400_000 },
  { name: 'h', ms: 3_600_000 },
  { name: 'm', ms: 60_000 },
  { name: 's', ms: 1_000 },
  { name: 'ms', ms: 1 },
] as const;
const UNIT_MS: ReadonlyMap<string, number> = new Map(UNITS.map(unit => [unit.name, unit.ms]));

/**
 * Reads a duration: text as in {@link DURATION_PATTERN}, or a number of seconds, which may have a fraction.
 *
 * @returns whole milliseconds, or null when it is none
 */
export function parseDuration(value: unknown): number | null {
  if (typeof value === 'number') {
    const ms = Math.round(value * 1_000);
    return ms >= 0 && ms <= MAX_MS ? ms : null;
  }
  if (typeof value !== 'string' || value.length > MAX_TEXT_LENGTH || !DURATION_PATTERN.test(value))
    return null;
  let ms = 0;
  for (const [, count, unit] of value.matchAll(/(\d+)([a-z]+)/g)) ms += Number(count) * UNIT_MS.get(unit)!;
  return ms <= MAX_MS ? ms : null;
}

/** The shortest text of a duration of whole milliseconds, which {@link parseDuration} reads back: `90s`, not `1m30s`. */
export function formatDuration(ms: number): string {
  return ms === 0 ? '0s' : shortest(ms, 0);
}

/** The shortest text that uses units from this place on. */
function shortest(ms: number, place: number): string {
  if (ms === 0) return '';
  const unit = UNITS[place];
  const count = Math.floor(ms / unit.ms);
  if (place === UNITS.length - 1) return `${count}${unit.name}`;
  const without = shortest(ms, place + 1);
  if (count === 0) return without;
  const withUnit = `${count}${unit.name}${shortest(ms % unit.ms, place + 1)}`;
  return withUnit.length <= without.length ? withUnit : without;
}
