import { quote } from '../../base/printable.ts';
import { LEASE_ACTION_NAMES } from '../../messages/lease-message.ts';
import { LEASE_ACTION_KEY, type RuleEntry, type RuleLimit } from '../rule-set.ts';
import { fieldOf } from './fields/fields.ts';
import type { FileCheck } from './fields/file-check.ts';
import type { YamlMap } from './yaml/yaml-node.ts';

/** An entry of descriptors that limits of a rule read, and that is not part of the path of the rule. */
interface Aside {
  readonly key: string;
  /** The field that has the key, and what the entry names, for messages. */
  readonly field: string;
  readonly named: string;
  /** Values that the entry surely has in requests. */
  readonly values: readonly string[];
  /** Whether the values are texts that people know. */
  readonly areKnown: boolean;
}

/** Stands for any value: no rule has it. */
const ANY_VALUE = '\0';

/**
 * Reports entries below a rule that would match an entry that its limits read, such as the one that names the class: such a
 * descriptor would be one of that rule, and never reach the limit.
 */
export function checkAsideKeys(check: FileCheck, map: YamlMap, { limits, entries }: RuleEntry): void {
  if (entries.length === 0) return;
  const { offset } = fieldOf(map, 'rate_limit') ?? fieldOf(map, 'rate_limits') ?? map;
  const asides = new Map<string, Aside>();
  for (const aside of limits.flatMap(asidesOf)) if (!asides.has(aside.key)) asides.set(aside.key, aside);
  for (const aside of asides.values()) {
    for (const nested of entries) if (matchesKey(nested, aside.key)) report(check, offset, nested, aside);
  }
}

/** What calls to every limit with holders can have. */
const ACTION: Aside = {
  key: LEASE_ACTION_KEY,
  field: 'entry that says what to do with a lease',
  named: 'what to do with a lease',
  values: LEASE_ACTION_NAMES,
  areKnown: true,
};

function asidesOf({ terms }: RuleLimit): readonly Aside[] {
  if (terms?.classes) {
    const { key, names } = terms.classes;
    return [{ key, field: '`key` of its `classes`', named: 'the class', values: names, areKnown: true }];
  }
  const key = terms?.lease?.holder ?? '';
  if (key === '') return [];
  return [{ key, field: '`holder`', named: 'the holder', values: [ANY_VALUE], areKnown: false }, ACTION];
}

/** Only a warning if the entry matches none of the values, but other ones. */
function report(check: FileCheck, offset: number, nested: RuleEntry, aside: Aside): void {
  const { key, field, named, values, areKnown } = aside;
  const advice = 'use another key for one of them';
  const { composite } = nested;
  if (nested.key === key || composite === key) {
    check.fault(offset, `the entry ${quote(key)} cannot be both below this one and the ${field}: ${advice}`);
    return;
  }
  const text = values.map(value => `${key}_${value}`).find(written => matchesText(composite, written));
  const known = areKnown ? text : undefined;
  const example = known ?? (composite.includes('*') ? null : composite);
  const message =
    `the entry ${quote(composite)} below this one would match the entry that names ${named}, because keys and values are ` +
    `compared as one text${example === null ? '' : ` such as ${quote(example)}`}: ${advice}`;
  if (text === undefined) check.warn(offset, message);
  else check.fault(offset, message);
}

/** Whether an entry matches an entry of a request with this key and some value. */
function matchesKey({ key: own, composite, condition }: RuleEntry, key: string): boolean {
  if (own === key || composite === key) return true;
  if (condition !== undefined) return false;
  const start = `${key}_`;
  const [head] = composite.split('*', 1);
  return head.startsWith(start) || (head.length < composite.length && start.startsWith(head));
}

/** Whether the text of an entry matches one of a request, as in `wildcards.ts`. */
function matchesText(composite: string, text: string): boolean {
  const [head, ...parts] = composite.split('*');
  const tail = parts.pop();
  if (tail === undefined) return composite === text;
  const end = text.length - tail.length;
  if (head.length > end || !text.startsWith(head) || !text.endsWith(tail)) return false;
  let at = head.length;
  for (const part of parts) {
    const found = text.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}
