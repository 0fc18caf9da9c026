import { type RuleLimit, UNIT_NUMBERS, type Unit } from '../rule-set.ts';
import { checkKeys } from './check-keys.ts';
import { countField, fieldOf, flagField, isNull, listField, textField } from './fields.ts';
import type { FileCheck } from './file-check.ts';
import { settled, warnAboutRepeats } from './repeated-keys.ts';
import { quote } from './yaml/quote.ts';
import type { YamlMap } from './yaml/yaml-node.ts';

const NO_NAMES: readonly string[] = [];
const UNIT_LIST = Object.keys(UNIT_NUMBERS).join(', ');

/** Checks a `rate_limit` block. What it gives is worth something only when no fault was reported. */
export function checkLimit(check: FileCheck, written: YamlMap): RuleLimit {
  const block = settled(check, written, 'rate_limit');
  warnAboutRepeats(check, written, block, 'rate_limit');
  checkKeys(check, block, 'rate_limit');
  const unlimited = flagField(check, block, 'unlimited');
  const unit = checkUnit(check, block, unlimited);
  const requestsPerUnit = countField(check, block, 'requests_per_unit');
  if (unit !== null && lacksCount(block)) {
    check.warn(
      block.offset,
      `the limit has a \`unit\` and no \`requests_per_unit\`, so it is 0 per ${unit} and rejects every request: ` +
        'write `requests_per_unit: ` and a number',
    );
  }
  const name = textField(check, block, 'name') ?? '';
  return { unit, requestsPerUnit, unlimited, name, replaces: checkReplaces(check, block, name) };
}

function lacksCount(block: YamlMap): boolean {
  const count = fieldOf(block, 'requests_per_unit');
  return count === null || isNull(count);
}

/** The unit, in any case of letters. Beside `unlimited` a text that is no unit is passed over, as in the reference. */
function checkUnit(check: FileCheck, block: YamlMap, unlimited: boolean): Unit | null {
  const text = textField(check, block, 'unit');
  if (text === null) return null;
  const unit = text.toLowerCase();
  const offset = fieldOf(block, 'unit')?.offset ?? block.offset;
  if (isUnit(unit)) {
    if (!unlimited) return unit;
    check.fault(offset, `an unlimited rule has no unit: remove \`unit: ${text}\` or \`unlimited: true\``);
  } else if (!unlimited) {
    const found = text === '' ? 'the limit has no `unit`' : `${quote(text)} is not a unit`;
    check.fault(offset, `${found}: write one of ${UNIT_LIST}, or \`unlimited: true\``);
  }
  return null;
}

function isUnit(text: string): text is Unit {
  return Object.hasOwn(UNIT_NUMBERS, text);
}

function checkReplaces(check: FileCheck, block: YamlMap, ownName: string): readonly string[] {
  const items = listField(check, block, 'replaces', '- name: ...');
  if (items.length === 0) return NO_NAMES;
  const names: string[] = [];
  for (const written of items) {
    const item = settled(check, written, 'replaces');
    warnAboutRepeats(check, written, item, 'replaces');
    checkKeys(check, item, 'replaces');
    const name = textField(check, item, 'name');
    if (name === null) continue;
    const offset = fieldOf(item, 'name')?.offset ?? item.offset;
    if (name === '') {
      check.fault(offset, 'an item of `replaces` has no name: write `- name: ` and the name of a limit');
    } else if (name === ownName) {
      check.fault(offset, `a limit cannot replace itself: ${quote(name)} is its own name`);
    }
    names.push(name);
  }
  return names;
}
