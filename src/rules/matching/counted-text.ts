import type { ByteWriter } from '../../base/bytes.ts';
import type { CompiledRules } from '../compiled-rules.ts';
import { writeGroup } from '../conditions/grouped-text.ts';
import { lowerCaseByte } from '../conditions/list-values.ts';
import { ENTRY, ENTRY_FLAG } from '../layout.ts';
import type { LevelText } from './value-lookup.ts';

const [UNDERSCORE, EQUALS, COLON, SEMICOLON] = [0x5f, 0x3d, 0x3a, 0x3b];

/**
 * Replaces a value in the cache key by the pattern of a wildcard, which all values share: `<key>_<pattern>_`. These are the keys
 * of envoyproxy/ratelimit.
 *
 * @param record the matched entry
 */
export function writePattern(
  rules: CompiledRules,
  record: number,
  { start, keyEnd }: LevelText,
  key: ByteWriter,
): void {
  const from = sharedStart(rules, record, key.bytes, start, keyEnd);
  key.length = keyEnd + 1;
  key.copy(rules.pool, from, compositeEnd(rules, record));
  key.byte(UNDERSCORE);
}

/**
 * Replaces a value in the cache key by the name of the rule and what counts together: `<key>_=<length>:<name><part>_`. No other
 * rule of the level writes this: their values have no `=` in front ({@link escapeMark}), and the length says where the name
 * ends. A semicolon after the length stands before the name of a rule whose key is part of it.
 *
 * @param record the matched entry, with `ENTRY_FLAG.marked`
 */
export function writeMarked(rules: CompiledRules, record: number, text: LevelText, key: ByteWriter): void {
  const { start, keyEnd } = text;
  const flags = rules.words[record + ENTRY.flags];
  const from = sharedStart(rules, record, key.bytes, start, keyEnd);
  const to = compositeEnd(rules, record);
  key.length = keyEnd + 1;
  key.byte(EQUALS);
  key.decimal(to - from);
  key.byte(from === rules.words[record + ENTRY.composite] ? SEMICOLON : COLON);
  key.copy(rules.pool, from, to);
  if ((flags & ENTRY_FLAG.shareThreshold) === 0)
    writeCounted(flags, text.values, text.valueStart, text.valueEnd, key);
  key.byte(UNDERSCORE);
}

/**
 * Appends what of a value counts together: its group, or all of it, in lower case if the rule ignores case.
 *
 * @param flags those of the matched entry
 */
export function writeCounted(
  flags: number,
  bytes: Uint8Array,
  start: number,
  end: number,
  to: ByteWriter,
): void {
  const from = to.length;
  if ((flags & ENTRY_FLAG.grouped) !== 0) writeGroup(flags, bytes, start, end, to);
  else to.copy(bytes, start, end);
  if ((flags & ENTRY_FLAG.foldsCase) === 0) return;
  for (let at = from; at < to.length; at++) to.bytes[at] = lowerCaseByte(to.bytes[at]);
}

/** Doubles the `=` at the start of a value in the cache key, on a level where others begin with the name of a rule. */
export function escapeMark(key: ByteWriter, keyEnd: number): void {
  const at = keyEnd + 1;
  if (key.bytes[at] !== EQUALS || at >= key.length) return;
  key.reserve(1);
  key.bytes.copyWithin(at + 1, at, key.length);
  key.length++;
}

/**
 * Where the pattern of a wildcard or the label of a condition begins in the pool, for a key: after `<key>_` in the composite
 * text. A wildcard can also match across the underscore (`user` with `*` matches the key `user_id`); then the pattern is the
 * whole composite text.
 */
function sharedStart(
  rules: CompiledRules,
  record: number,
  bytes: Uint8Array,
  start: number,
  keyEnd: number,
): number {
  const composite = rules.words[record + ENTRY.composite];
  const length = keyEnd - start;
  const hasKey =
    rules.words[record + ENTRY.compositeLength] > length &&
    rules.holds(composite, length, bytes, start, keyEnd) &&
    rules.pool[composite + length] === UNDERSCORE;
  return hasKey ? composite + length + 1 : composite;
}

function compositeEnd(rules: CompiledRules, record: number): number {
  return rules.words[record + ENTRY.composite] + rules.words[record + ENTRY.compositeLength];
}
