import { quote } from '../../base/printable.ts';
import { type LimitTerms, MAX_LIMITS, type RuleLimit, type Unit } from '../rule-set.ts';
import { addedField, checkTerms, termsOfOne } from './check-terms.ts';
import { checkKeys, ITEM_EXAMPLES } from './fields/field-names.ts';
import {
  countField,
  fieldOf,
  flagField,
  hasValue,
  isNull,
  listField,
  mapField,
  offsetOf,
  textField,
} from './fields/fields.ts';
import type { FileCheck } from './fields/file-check.ts';
import {
  checkedMap,
  emptyMap,
  isEmptyLimit,
  warnAboutRepeats,
  withUniqueKeys,
} from './fields/repeated-keys.ts';
import { withLeases } from './lease-terms.ts';
import type { LoadScope } from './load-scope.ts';
import { checkUnit, unitOf } from './window-length.ts';
import type { YamlMap, YamlNode } from './yaml/yaml-node.ts';

const NO_LIMITS: readonly RuleLimit[] = [];

/** Checks the `rate_limit` or `rate_limits` of an entry. The result is valid only if no fault was reported. */
export function checkLimits(check: FileCheck, entry: YamlMap, scope: LoadScope): readonly RuleLimit[] {
  const block = limitField(check, entry);
  const list = fieldOf(entry, 'rate_limits');
  if (list !== null && block !== null) {
    check.fault(
      list.offset,
      'the entry has `rate_limit` and `rate_limits`: move the limit of `rate_limit` into the list',
    );
  }
  if (list !== null) return checkList(check, entry, list, scope);
  if (block === null) {
    withLeases(check, entry, []);
    return NO_LIMITS;
  }
  const limit = checkLimit(check, entry, block, scope);
  if (limit.terms?.penalty != null) refuseQuota(check, entry, block);
  return scope.plainLimits.listOf(limit);
}

/** Reports a limit with a penalty in quota mode. A request may use up a quota and be allowed nevertheless. */
function refuseQuota(check: FileCheck, modes: YamlMap, block: YamlMap): void {
  if (!flagField(check, modes, 'quota_mode')) return;
  check.fault(
    offsetOf(block, 'penalty'),
    'a quota cannot have a `penalty`, because using it up does not have to reject a request: remove `penalty` or ' +
      '`quota_mode`',
  );
}

/** The `rate_limit` of an entry, unchecked; null if absent. */
function limitField(check: FileCheck, map: YamlMap): YamlMap | null {
  const node = fieldOf(map, 'rate_limit');
  return node !== null && isEmptyLimit(node) ? emptyMap(node.offset) : mapField(check, map, 'rate_limit');
}

/** Checks a `rate_limit`. */
function checkLimit(check: FileCheck, entry: YamlMap, written: YamlMap, scope: LoadScope): RuleLimit {
  const block = checkedMap(check, written, 'rate_limit');
  const unlimited = flagField(check, block, 'unlimited');
  const added = addedField(block);
  const isPlain = unlimited || added === null;
  let requestsPerUnit = isPlain ? countField(check, block, 'requests_per_unit') : 0;
  let unit: Unit | null = null;
  let terms: LimitTerms | null = null;
  if (unlimited) checkUnlimited(check, block, added);
  else if (added === null) unit = checkUnit(check, block, INSTEAD);
  else {
    const counting = checkTerms(check, block, INSTEAD);
    if (counting !== null) ({ unit, requestsPerUnit, terms } = counting);
  }
  if (unit !== null) checkCountIsWritten(check, block, added !== null);
  if (terms !== null) checkScope(check, block, terms, scope);
  const name = textField(check, block, 'name') ?? '';
  [terms] = withLeases(check, entry, [{ block, terms }]);
  return {
    unit,
    requestsPerUnit,
    unlimited,
    name,
    replaces: checkReplaces(check, block, name),
    terms: terms === null ? null : termsOfOne(scope.classes.with(terms)),
    item: null,
  };
}

/** What a `rate_limit` can have instead of a unit. */
const INSTEAD = '`unlimited: true`';

/** An unlimited rule has no window. An unknown unit is ignored, as in envoyproxy/ratelimit. */
function checkUnlimited(check: FileCheck, block: YamlMap, added: string | null): void {
  const unit = textField(check, block, 'unit');
  const hasUnit = unit !== null && unitOf(unit) !== null;
  const field = hasUnit ? 'unit' : added;
  if (field === null) return;
  const shown = hasUnit ? `unit: ${unit}` : field;
  const has = hasUnit ? 'has no unit' : 'is not counted';
  check.fault(offsetOf(block, field), `an unlimited rule ${has}: remove \`${shown}\` or \`unlimited: true\``);
}

/**
 * Reports a missing `requests_per_unit`. envoyproxy/ratelimit takes 0 for it, so this is a warning for limits that it can
 * have.
 */
function checkCountIsWritten(check: FileCheck, block: YamlMap, isOwn: boolean): void {
  if (hasValue(block, 'requests_per_unit')) return;
  const advice = 'write `requests_per_unit: ` and a number';
  if (isOwn) {
    check.fault(block.offset, `the limit has no \`requests_per_unit\`: ${advice}`);
    return;
  }
  const unit = textField(check, block, 'unit')?.toLowerCase();
  check.warn(
    block.offset,
    `the limit has a \`unit\` and no \`requests_per_unit\`, so it is 0 per ${unit} and rejects every request: ${advice}`,
  );
}

/** Reports what the counter store does not have, and too many rows of statistics. */
function checkScope(check: FileCheck, block: YamlMap, terms: LimitTerms, scope: LoadScope): void {
  scope.extraRows.take(check, block.offset, terms);
  if (scope.forMemcached) checkMemcached(check, block, terms);
}

/** Reports an algorithm, a penalty, classes, or leases, which memcached does not have. */
function checkMemcached(check: FileCheck, block: YamlMap, terms: LimitTerms): void {
  if (terms.penalty !== null) {
    check.fault(
      offsetOf(block, 'penalty'),
      'memcached cannot keep a `penalty`, because it cannot compare and change a record in one step: ' +
        'remove it, or set BACKEND_TYPE to `redis` or `memory`',
    );
  }
  if (terms.classes !== null) {
    check.fault(
      offsetOf(block, 'classes'),
      'memcached cannot count `classes`, because it cannot compare and add in one step: ' +
        'remove them, or set BACKEND_TYPE to `redis` or `memory`',
    );
  }
  for (const field of ['reserve', 'concurrency']) {
    if (!hasValue(block, field) || terms.lease === null) continue;
    check.fault(
      offsetOf(block, field),
      `memcached cannot count \`${field}\`, because it cannot compare and add in one step: ` +
        'remove it, or set BACKEND_TYPE to `redis` or `memory`',
    );
  }
  if (terms.algorithm === 'fixed_window') return;
  check.fault(
    offsetOf(block, 'algorithm'),
    `memcached cannot count \`algorithm: ${terms.algorithm}\`, because it cannot compare and add in one step: ` +
      'remove the line for a fixed window, or set BACKEND_TYPE to `redis` or `memory`',
  );
}

/** An item of `rate_limits`, before it is compared with the others. */
interface Item {
  readonly block: YamlMap;
  readonly limit: Omit<RuleLimit, 'terms' | 'item'>;
  /** Null if the window is faulty, which is reported. */
  readonly terms: LimitTerms | null;
  readonly shadowMode: boolean;
  readonly quotaMode: boolean;
}

function checkList(check: FileCheck, entry: YamlMap, list: YamlNode, scope: LoadScope): readonly RuleLimit[] {
  if (isNull(list) || (list.kind === 'list' && list.items.length === 0)) {
    check.fault(
      list.offset,
      `\`rate_limits\` is empty: write \`${ITEM_EXAMPLES.rate_limits}\` for each limit, or remove it`,
    );
    return NO_LIMITS;
  }
  const maps = listField(check, entry, 'rate_limits', ITEM_EXAMPLES.rate_limits);
  if (maps.length > MAX_LIMITS) {
    check.fault(
      maps[MAX_LIMITS].offset,
      `an entry has at most ${MAX_LIMITS} limits, and this one has ${maps.length}: remove some`,
    );
  }
  const checked = maps.slice(0, MAX_LIMITS).map(map => checkItem(check, map, scope));
  const terms = withLeases(check, entry, checked);
  const items = checked.map((item, i) => ({ ...item, terms: terms[i] }));
  for (const { block, terms } of items) {
    if (terms?.penalty == null) continue;
    for (const modes of [entry, block]) refuseQuota(check, modes, block);
  }
  checkNames(check, items);
  return distinguished(check, items);
}

/** Stands for a limit that was refused as a whole. */
const NO_LIMIT = { unit: null, requestsPerUnit: 0, unlimited: false, name: '', replaces: [] } as const;

function checkItem(check: FileCheck, written: YamlMap, scope: LoadScope): Item {
  const block = withUniqueKeys(check, written, 'rate_limits');
  warnAboutRepeats(check, written, block, 'rate_limits');
  const unlimited = fieldOf(block, 'unlimited');
  if (unlimited !== null) {
    check.fault(
      unlimited.offset,
      'a limit in `rate_limits` cannot be unlimited: remove it from the list, or write ' +
        '`rate_limit: {unlimited: true}` instead of the list',
    );
    return { block, limit: NO_LIMIT, terms: null, shadowMode: false, quotaMode: false };
  }
  checkKeys(check, block, 'rate_limits');
  const counting = checkTerms(check, block, '`window: ` and a length');
  if (counting !== null && counting.unit !== null) checkCountIsWritten(check, block, true);
  if (counting !== null) checkScope(check, block, counting.terms, scope);
  const name = textField(check, block, 'name') ?? '';
  const replaces = checkReplaces(check, block, name);
  return {
    block,
    limit: {
      unit: counting?.unit ?? null,
      requestsPerUnit: counting?.requestsPerUnit ?? 0,
      unlimited: false,
      name,
      replaces,
    },
    terms: counting && scope.classes.with(counting.terms),
    shadowMode: flagField(check, block, 'shadow_mode'),
    quotaMode: flagField(check, block, 'quota_mode'),
  };
}

/** Reports limits that statistics, `replaces` and cache keys could not tell apart. */
function checkNames(check: FileCheck, items: readonly Item[]): void {
  for (const [index, { block, limit, terms }] of items.entries()) {
    const { name, replaces } = limit;
    const own = replaces.find(replaced => items.some(item => item.limit.name === replaced));
    if (own !== undefined && own !== name) {
      check.fault(
        offsetOf(block, 'replaces'),
        `a limit cannot replace ${quote(own)}, which is a limit of the same entry: remove one of the two`,
      );
    }
    const before = items.slice(0, index);
    if (name !== '' && before.some(item => item.limit.name === name)) {
      check.fault(
        offsetOf(block, 'name'),
        `two limits of the entry have the name ${quote(name)}: give each one a name of its own`,
      );
    } else if (
      name === '' &&
      terms !== null &&
      before.some(item => item.limit.name === '' && item.terms?.tag === terms.tag)
    ) {
      const same =
        terms.lease?.mode === 'concurrency'
          ? 'are on concurrency'
          : `have the same window (${terms.window}) and algorithm`;
      check.fault(block.offset, `two limits of the entry ${same}: give them names, or remove one`);
    }
  }
}

/**
 * The limits, each with a tag and a level of its own. A tag contains the name only if another limit has the same window
 * and algorithm, so that adding a name to a limit does not reset its counters.
 */
function distinguished(check: FileCheck, items: readonly Item[]): readonly RuleLimit[] {
  const levels = new Set(items.map(item => item.limit.name).filter(name => name !== ''));
  return items.map(({ block, limit, terms, shadowMode, quotaMode }) => {
    if (terms === null) return { ...limit, terms, item: { shadowMode, quotaMode, level: limit.name } };
    const level = limit.name === '' ? levelOf(terms, levels) : limit.name;
    if (level === null) {
      check.fault(
        block.offset,
        `other limits of the entry have the names of the statistics of this limit: write \`name: \` and a name`,
      );
    }
    const isShared = items.filter(item => item.terms?.tag === terms.tag).length > 1;
    // Encoded, because a key with white space is not valid in memcached.
    const tag = isShared && limit.name !== '' ? `${terms.tag}.${encodeURIComponent(limit.name)}` : terms.tag;
    return { ...limit, terms: { ...terms, tag }, item: { shadowMode, quotaMode, level: level ?? '' } };
  });
}

/** The level of a limit without a name: the shortest one that is free, which is then taken. Null if none is. */
function levelOf({ algorithm, calendar, window }: LimitTerms, taken: Set<string>): string | null {
  const whole = window.replace(' ', '_');
  const levels = [calendar?.period ?? whole, whole, `${whole}_${algorithm}`];
  const free = levels.find(level => !taken.has(level));
  if (free === undefined) return null;
  taken.add(free);
  return free;
}

const NO_NAMES: readonly string[] = [];

function checkReplaces(check: FileCheck, block: YamlMap, ownName: string): readonly string[] {
  const items = listField(check, block, 'replaces', ITEM_EXAMPLES.replaces);
  if (items.length === 0) return NO_NAMES;
  const names: string[] = [];
  for (const written of items) {
    const item = checkedMap(check, written, 'replaces');
    const name = textField(check, item, 'name');
    if (name === null) continue;
    if (name === '') {
      check.fault(
        offsetOf(item, 'name'),
        'an item of `replaces` has no name: write `- name: ` and the name of a limit',
      );
    } else if (name === ownName) {
      check.fault(offsetOf(item, 'name'), `a limit cannot replace itself: ${quote(name)} is its own name`);
    }
    names.push(name);
  }
  return names;
}
