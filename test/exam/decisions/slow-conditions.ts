import { BlockList, isIP } from 'node:net';
import { networkText } from '../../../src/rules/conditions/addresses.ts';
import type { ValueCondition } from '../../../src/rules/conditions/condition.ts';
import type { Grouping } from '../../../src/rules/conditions/grouping.ts';
import type { MATCHED } from '../../../src/rules/matching/matched.ts';
import type { RuleEntry } from '../../../src/rules/rule-set.ts';

type How = keyof typeof MATCHED;
type Found = { readonly entry: RuleEntry; readonly how: How };

/** The entry with a condition that comes before wildcards, as plainly as it can be written; null for none. */
export function slowByCondition(all: readonly RuleEntry[], key: string, value: string): Found | null {
  const entries = all.filter(entry => entry.key === key && entry.condition !== undefined);
  const of = <K extends ValueCondition['kind']>(kind: K) =>
    entries.flatMap(entry => {
      const { condition } = entry;
      return condition?.kind === kind
        ? [{ entry, condition: condition as Extract<ValueCondition, { kind: K }> }]
        : [];
    });
  const lists = of('in').filter(({ condition }) => meets(condition, value));
  const single = lists.find(({ condition }) => condition.isValue);
  if (single !== undefined) return { entry: single.entry, how: 'folded' };
  const list = lists.find(({ condition }) => !condition.ignoreCase);
  if (list !== undefined) return { entry: list.entry, how: 'list' };
  if (lists.length > 0) return { entry: lists[0].entry, how: 'folded' };
  const networks = of('cidr').flatMap(({ entry, condition }) =>
    condition.networks
      .filter(network => meets({ ...condition, networks: [network] }, value))
      .map(({ bits }) => ({ entry, bits })),
  );
  const longest = networks.toSorted((a, b) => b.bits - a.bits)[0];
  if (longest !== undefined) return { entry: longest.entry, how: 'network' };
  const ranges = of('range').filter(({ condition }) => meets(condition, value));
  if (ranges.length > 0)
    return { entry: ranges.toSorted((a, b) => rangeRank(a.condition, b.condition))[0].entry, how: 'range' };
  const pattern = of('matches').find(({ condition }) => meets(condition, value));
  return pattern === undefined ? null : { entry: pattern.entry, how: 'pattern' };
}

type Range = Extract<ValueCondition, { readonly kind: 'range' }>;

/** The narrower range comes first. */
function rangeRank(a: Range, b: Range): number {
  const ends = ({ from, to }: Range) => [from, to].filter(Number.isFinite);
  if (ends(a).length !== ends(b).length) return ends(b).length - ends(a).length;
  if (ends(a).length === 2) return a.to - a.from - (b.to - b.from);
  const [hasFromA, hasFromB] = [Number.isFinite(a.from), Number.isFinite(b.from)];
  if (hasFromA !== hasFromB) return hasFromA ? -1 : 1;
  return hasFromA ? b.from - a.from : a.to - b.to;
}

/** The first entry with a `not` that a value meets; null for none. */
export function slowByExclusion(all: readonly RuleEntry[], key: string, value: string): Found | null {
  const entry = all.find(
    each => each.key === key && each.condition?.kind === 'not' && meets(each.condition, value),
  );
  return entry === undefined ? null : { entry, how: 'exclusion' };
}

/** Whether a value meets a condition. */
export function meets(condition: ValueCondition, value: string): boolean {
  switch (condition.kind) {
    case 'not':
      return !condition.conditions.some(each => meets(each, value));
    case 'in': {
      const compared = condition.ignoreCase ? lower(value) : value;
      return condition.values.some(each => (condition.ignoreCase ? lower(each) : each) === compared);
    }
    case 'cidr': {
      const address = plainAddress(value);
      const family = isIP(address);
      const networks = condition.networks.filter(network => network.family === family);
      const type = family === 4 ? 'ipv4' : 'ipv6';
      const list = new BlockList();
      for (const network of networks) {
        const [first, bits] = networkText(network).split('/');
        list.addSubnet(first, Number(bits ?? network.bits), type);
      }
      return family !== 0 && list.check(address, type);
    }
    case 'range': {
      const isNumber = /^-?[0-9]+(\.[0-9]+)?$/.test(value);
      return isNumber && Number(value) >= condition.from && Number(value) <= condition.to;
    }
    case 'matches':
      return new RegExp(condition.pattern, condition.ignoreCase ? 'iu' : 'u').test(value);
  }
}

function lower(text: string): string {
  return text.replace(/[A-Z]/g, letter => letter.toLowerCase());
}

/** What a value counts as: the text in the cache key. */
export function slowGroup(grouping: Grouping, value: string): string {
  if (grouping.by === 'segments') {
    const [path] = value.split(/[?#]/);
    const [first, ...others] = path.split('/');
    const isRooted = path.startsWith('/');
    const segments = isRooted ? others : [first, ...others];
    return (isRooted ? '/' : '') + segments.slice(0, grouping.count).join('/');
  }
  const address = plainAddress(value);
  if (isIP(address) === 0) return value;
  if (isIP(address) === 4)
    return `${network(address.split('.').map(Number), 8, grouping.ipv4Bits).join('.')}/${grouping.ipv4Bits}`;
  const [head, tail = ''] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const [first, last] = [head, tail].map(part => (part === '' ? [] : part.split(':')));
  const groups = [...first, ...Array<string>(8 - first.length - last.length).fill('0'), ...last];
  const kept = network(
    groups.map(group => Number.parseInt(group, 16)),
    16,
    grouping.ipv6Bits,
  );
  const text = kept.map(group => group.toString(16)).join(':');
  return `${/:0$/.test(text) || text === '0' ? text.replace(/(^|:)0(:0)*$/, '::') : text}/${grouping.ipv6Bits}`;
}

/** An address without its zone, and an IPv4 address that is written in IPv6 as it is. */
function plainAddress(value: string): string {
  const address = value.includes('%') && isIP(value) === 6 ? value.split('%')[0] : value;
  if (isIP(address) !== 6) return address;
  const words = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(new URL(`http://[${address}]`).hostname.slice(1, -1));
  if (words === null) return address;
  return words
    .slice(1)
    .flatMap(word => [Number.parseInt(word, 16) >> 8, Number.parseInt(word, 16) & 255])
    .join('.');
}

/** The numbers of `width` bits with zeros after the first bits. */
function network(numbers: readonly number[], width: number, bits: number): number[] {
  const all = numbers.map(number => number.toString(2).padStart(width, '0')).join('');
  const kept = all.slice(0, bits).padEnd(all.length, '0');
  return numbers.map((_, i) => Number.parseInt(kept.slice(i * width, (i + 1) * width), 2));
}
