import { quote } from '../../base/printable.ts';
import { UNIT_SECONDS } from '../../messages/current-limit.ts';
import { UNIT_NUMBERS, type Unit } from '../rule-set.ts';
import { lengthText } from '../rule-terms.ts';
import { fieldOf, hasValue, offsetOf, textField, wholeField, writtenField } from './fields/fields.ts';
import type { FileCheck } from './fields/file-check.ts';
import type { YamlMap } from './yaml/yaml-node.ts';

/** A window of `multiplier` times `unit`. */
export interface WindowLength {
  readonly unit: Unit;
  readonly multiplier: number;
  /** `5m`, `36h`. */
  readonly text: string;
}

/** The longest window, and the longest time in which a bucket becomes full: ten years of 365 days. */
export const LONGEST_S = 3_650 * 86_400;
const TEN_YEARS = ' (a window has at most ten years)';

/** The letters of `window`, and their units. */
const LETTERS: ReadonlyMap<string, Unit> = new Map([
  ['s', 'second'],
  ['m', 'minute'],
  ['h', 'hour'],
  ['d', 'day'],
  ['w', 'week'],
]);
const LETTER_OF: ReadonlyMap<Unit, string> = new Map(Array.from(LETTERS, ([letter, unit]) => [unit, letter]));

/** The form of `window`. The letter may still be wrong. */
const WRITTEN = /^0*([0-9]{1,10})([a-z])$/;

const UNIT_LIST = Object.keys(UNIT_NUMBERS).join(', ');
/** What a length of time is, for messages. */
const ACCEPTED_LENGTH =
  'a whole number and one of the letters s, m, h, d and w, such as `90s`, `5m` or `36h`';

/** Reads `unit` and `unit_multiplier`. Returns null after reporting a fault. See {@link checkUnit}. */
export function unitWindow(check: FileCheck, block: YamlMap, alternative: string): WindowLength | null {
  const unit = checkUnit(check, block, alternative);
  const greatest = unit === null ? LONGEST_S : Math.floor(LONGEST_S / secondsOf(unit));
  const multiplier = wholeField(check, block, 'unit_multiplier', { least: 1, greatest, why: TEN_YEARS }) ?? 1;
  return unit === null ? null : windowOf(unit, multiplier);
}

/**
 * Reads `unit`, in any letter case. Returns null after reporting a fault.
 *
 * @param alternative what can be written instead of a unit, for messages
 */
export function checkUnit(check: FileCheck, block: YamlMap, alternative: string): Unit | null {
  const text = textField(check, block, 'unit');
  const unit = text === null ? null : unitOf(text);
  if (text === null || unit !== null) return unit;
  const multiplied = fieldOf(block, 'unit_multiplier') === null ? '' : ' for its `unit_multiplier`';
  const found = text === '' ? `the limit has no \`unit\`${multiplied}` : `${quote(text)} is not a unit`;
  const advice = WRITTEN.test(text) ? `\`window: ${text}\`` : `one of ${UNIT_LIST}, or ${alternative}`;
  check.fault(offsetOf(block, 'unit'), `${found}: write ${advice}`);
  return null;
}

/** Reads `window`. Returns null after reporting a fault. */
export function writtenWindow(check: FileCheck, block: YamlMap): WindowLength | null {
  const text = writtenField(check, block, 'window');
  if (text === null) return null;
  const [, digits, letter] = WRITTEN.exec(text) ?? [];
  const unit = LETTERS.get(letter);
  const seconds = writtenSeconds(text) ?? 0;
  if (unit !== undefined && seconds >= 1 && seconds <= LONGEST_S) return windowOf(unit, Number(digits));
  check.fault(offsetOf(block, 'window'), refusal(text, unit !== undefined, seconds));
  return null;
}

/** A length of time in seconds, and how messages call it. */
interface NamedLength {
  readonly s: number;
  readonly text: string;
}

/** The lengths that a field accepts. */
export interface LengthRange {
  readonly shortest: NamedLength;
  readonly longest: NamedLength;
}

export const ONE_SECOND: NamedLength = { s: 1, text: 'one second' };

/** A length of time in seconds; null if absent, null or faulty. */
export function lengthField(
  check: FileCheck,
  map: YamlMap,
  name: string,
  { shortest, longest }: LengthRange,
): number | null {
  const text = hasValue(map, name) ? writtenField(check, map, name) : null;
  if (text === null) return null;
  const seconds = writtenSeconds(text);
  if (seconds !== null && seconds >= shortest.s && seconds <= longest.s) return seconds;
  const isNumber = /^[0-9]+$/.test(text);
  const [found, advice] =
    seconds !== null
      ? [
          `${text} is ${seconds < shortest.s ? `shorter than ${shortest.text}` : `longer than ${longest.text}`}`,
          `a length from ${lengthText(shortest.s)} to ${lengthText(longest.s)}`,
        ]
      : isNumber
        ? [`\`${name}: ${text}\` has no unit`, `\`${name}: ${text}s\` for seconds`]
        : [`${quote(text)} is not a length of time`, ACCEPTED_LENGTH];
  check.fault(offsetOf(map, name), `${found}: write ${advice}`);
  return null;
}

/** The seconds of a length of time, such as `90s`; null if the text has another form. */
function writtenSeconds(text: string): number | null {
  const [, digits, letter] = WRITTEN.exec(text) ?? [];
  const unit = LETTERS.get(letter);
  return unit === undefined ? null : Number(digits) * secondsOf(unit);
}

function refusal(text: string, isLength: boolean, seconds: number): string {
  if (isLength) {
    const why = seconds < 1 ? 'shorter than one second' : 'longer than ten years';
    return `a window of ${text} is ${why}: write a length from 1s to ${LONGEST_S / 86_400}d`;
  }
  if (/^[0-9]+$/.test(text)) return `\`window: ${text}\` has no unit: write \`window: ${text}s\` for seconds`;
  return `${quote(text)} is not the length of a window: write ${ACCEPTED_LENGTH}`;
}

/** The unit that a text names, in any letter case; null if the text is not the name of a unit. */
export function unitOf(text: string): Unit | null {
  const name = text.toLowerCase();
  return Object.hasOwn(UNIT_NUMBERS, name) ? (name as Unit) : null;
}

function secondsOf(unit: Unit): number {
  return UNIT_SECONDS[UNIT_NUMBERS[unit]];
}

/** A window that is exactly one unit gets this unit, because then answers tell its true length. */
function windowOf(unit: Unit, multiplier: number): WindowLength {
  const seconds = multiplier * secondsOf(unit);
  for (const [letter, one] of LETTERS) {
    if (secondsOf(one) === seconds) return { unit: one, multiplier: 1, text: `1${letter}` };
  }
  const letter = LETTER_OF.get(unit);
  return { unit, multiplier, text: letter === undefined ? `${seconds / 86_400}d` : `${multiplier}${letter}` };
}

/** The length of a window in seconds. */
export function lengthS({ unit, multiplier }: Pick<WindowLength, 'unit' | 'multiplier'>): number {
  return multiplier * secondsOf(unit);
}
