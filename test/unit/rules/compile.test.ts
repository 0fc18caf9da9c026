import { once } from 'node:events';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import t from 'tap';
import { ByteWriter } from '../../../src/base/bytes.ts';
import { encodeRateLimitRequest } from '../../../src/messages/client-codec.ts';
import { RequestTable } from '../../../src/messages/request-table.ts';
import { compileRules } from '../../../src/rules/compile.ts';
import { CompiledRules } from '../../../src/rules/compiled-rules.ts';
import { HEADER, LIMIT, LIMIT_FLAG } from '../../../src/rules/layout.ts';
import { Matcher } from '../../../src/rules/matching/matcher.ts';
import {
  DEFAULT_QUOTA,
  type LimitTerms,
  type RuleEntry,
  type RuleLimit,
  UNIT_NUMBERS,
} from '../../../src/rules/rule-set.ts';
import { descriptor } from '../../support/decisions.ts';
import type { Reading } from './reading-thread.ts';

function entry(key: string, value: string, more: Partial<RuleEntry> = {}): RuleEntry {
  return {
    key,
    value,
    composite: value === '' ? key : `${key}_${value}`,
    limits: [],
    shadowMode: false,
    quotaMode: false,
    detailedMetric: false,
    valueToMetric: false,
    shareThreshold: false,
    metadata: null,
    entries: [],
    ...more,
  };
}

function perHour(requestsPerUnit: number, more: Partial<RuleLimit> = {}): RuleLimit {
  return {
    unit: 'hour',
    requestsPerUnit,
    unlimited: false,
    name: '',
    replaces: [],
    terms: null,
    item: null,
    ...more,
  };
}

const FIVE_MINUTES: LimitTerms = {
  algorithm: 'fixed_window',
  multiplier: 5,
  burst: 0,
  calendar: null,
  penalty: null,
  classes: null,
  afterLimit: 0,
  lease: null,
  scale: 1,
  window: '5m',
  tag: '5m',
};

function compiled(
  ...domains: { readonly name: string; readonly entries: readonly RuleEntry[] }[]
): CompiledRules {
  return new CompiledRules(compileRules({ domains }));
}

function levelOf(rules: CompiledRules, domain: string): number {
  const name = Buffer.from(`<${domain}>`);
  return rules.domainLevel(name, 1, name.length - 1);
}

t.test('another thread reads the rules where they lie', async t => {
  const buffer = compileRules({
    domains: [{ name: 'd', entries: [entry('k', 'v', { limits: [perHour(41)] })] }],
  });
  t.type(buffer, SharedArrayBuffer);
  const thread = new Worker(new URL(`./reading-thread${extname(import.meta.url)}`, import.meta.url), {
    workerData: buffer,
  });
  t.teardown(() => thread.terminate());
  const read = async (): Promise<Reading> => {
    thread.postMessage('read');
    const [reading] = await once(thread, 'message');
    return reading;
  };
  t.strictSame(await read(), { path: 'd.k_v', requestsPerUnit: 41, isSameMemory: true });
  // Published rules are never written; here it shows that the thread looks at the same memory.
  const words = new Int32Array(buffer);
  words[words[HEADER.limits] + LIMIT.requestsPerUnit] = 42;
  t.equal((await read()).requestsPerUnit, 42);
});

t.test('a hundred thousand rules are each found under their own texts', async t => {
  const exact = Array.from({ length: 60_000 }, (_, i) => entry('k', `v${i}`, { limits: [perHour(i)] }));
  const keys = Array.from({ length: 20_000 }, (_, i) =>
    entry(`key${i}`, '', { limits: [perHour(60_000 + i)] }),
  );
  const wild = Array.from({ length: 10_000 }, (_, i) =>
    entry('w', `p${i}-*-s`, { limits: [perHour(80_000 + i)] }),
  );
  const deep = Array.from({ length: 10_000 }, (_, i) =>
    entry('n', `${i}`, { entries: [entry('leaf', '', { limits: [perHour(90_000 + i)] })] }),
  );
  const rules = compiled({ name: 'd', entries: [...exact, ...keys, ...wild, ...deep] });
  t.equal(rules.limitCount, 100_000);
  const matcher = new Matcher();
  const key = new ByteWriter();
  const level = levelOf(rules, 'd');
  const requestsPerUnitFor = (texts: readonly string[]): number[] => {
    const table = new RequestTable();
    table.add(
      encodeRateLimitRequest({
        domain: 'd',
        descriptors: texts.map(text => descriptor(text)),
        hitsAddend: 0,
      }),
    );
    return texts.map((_, row) => {
      key.reset();
      const found = matcher.match(rules, level, table, row, key);
      return found < 0 ? -1 : rules.requestsPerUnit(found);
    });
  };
  const textOf = (i: number): string => {
    if (i < 60_000) return `k=v${i}`;
    if (i < 80_000) return `key${i - 60_000}=any`;
    return i < 90_000 ? `w=p${i - 80_000}-x-s` : `n=${i - 90_000},leaf=y`;
  };
  for (let start = 0; start < 100_000; start += 4_000) {
    const wanted = Array.from({ length: 4_000 }, (_, i) => start + i);
    const found = requestsPerUnitFor(wanted.map(textOf));
    const wrong = wanted.filter((number, i) => found[i] !== number);
    t.strictSame(wrong, [], `rules ${start} to ${start + 3_999}`);
  }
  t.strictSame(
    requestsPerUnitFor(['k=v60000', 'key20000=x', 'w=p10000-x-s', 'n=10000,leaf=y', 'w=p1-s']),
    [-1, -1, -1, -1, -1],
  );
});

t.test('domains are told apart by their whole name, also where their hashes are equal', async t => {
  const equalHashes = ['declinate', 'macallums', 'altarage'];
  const names = [
    'a',
    'ab',
    'b',
    'ü',
    'a.b',
    'A',
    ...equalHashes,
    ...Array.from({ length: 1_000 }, (_, i) => `domain-${i}`),
  ];
  const rules = compiled(
    ...names.map((name, i) => ({ name, entries: [entry('k', '', { limits: [perHour(i)] })] })),
  );
  t.equal(rules.domainCount, names.length);
  t.equal(new Set(names.map(name => levelOf(rules, name))).size, names.length);
  for (const unknown of ['', 'abc', 'B', 'u', 'domain-1000', 'domain-', 'zinke'])
    t.equal(levelOf(rules, unknown), -1, unknown);
  t.strictSame(
    names.map((_, i) => rules.path(i)),
    names.map(name => `${name}.k`),
  );
});

t.test('no rules compile to an empty set', async t => {
  const rules = compiled();
  t.strictSame([rules.domainCount, rules.limitCount, levelOf(rules, 'd')], [0, 0, -1]);
});

t.test('limits are numbered in definition order and keep all that was said of them', async t => {
  const nested = entry('inner', 'x', { limits: [perHour(2)], shadowMode: true, quotaMode: true });
  const rules = compiled({
    name: 'dömäne',
    entries: [
      entry('outer', '', {
        limits: [perHour(4_294_967_295, { unit: 'week' })],
        entries: [entry('none', ''), nested],
      }),
      entry('large', '', { limits: [perHour(9_007_199_254_740_991)], shadowMode: true }),
      entry('free', '', {
        limits: [perHour(5, { unit: null, unlimited: true })],
        metadata: { a: ['ü', null] },
      }),
    ],
  });
  t.strictSame(
    [0, 1, 2, 3].map(limit => rules.path(limit)),
    ['dömäne.outer', 'dömäne.outer.inner_x', 'dömäne.large', 'dömäne.free'],
  );
  t.strictSame(
    [0, 1, 2, 3].map(limit => rules.requestsPerUnit(limit)),
    [4_294_967_295, 2, 9_007_199_254_740_991, 5],
  );
  t.strictSame(
    [0, 1, 2, 3].map(limit => rules.limit(limit, LIMIT.unit)),
    [UNIT_NUMBERS.week, UNIT_NUMBERS.hour, UNIT_NUMBERS.hour, 0],
  );
  t.strictSame(
    [0, 1, 2, 3].map(limit => rules.flags(limit)),
    [0, LIMIT_FLAG.shadow | LIMIT_FLAG.quota, LIMIT_FLAG.shadow, LIMIT_FLAG.unlimited],
  );
  const metadata = [0, 3].map(limit =>
    rules.text(rules.limit(limit, LIMIT.metadata), rules.limit(limit, LIMIT.metadataLength)),
  );
  t.strictSame(metadata, ['', '{"a":["ü",null]}']);
});

t.test('names and what replaces them become numbers that agree over all domains', async t => {
  const rules = compiled(
    { name: 'one', entries: [entry('a', '', { limits: [perHour(1, { name: 'x', replaces: ['y', 'z'] })] })] },
    { name: 'two', entries: [entry('b', '', { limits: [perHour(1, { name: 'y', replaces: ['x'] })] })] },
    { name: 'three', entries: [entry('c', '', { limits: [perHour(1)] })] },
  );
  const replaced = (limit: number): number[] => {
    const first = rules.words[HEADER.replaces] + rules.limit(limit, LIMIT.replaces);
    return [...rules.words.subarray(first, first + rules.limit(limit, LIMIT.replaceCount))];
  };
  const [x, y, none] = [0, 1, 2].map(limit => rules.limit(limit, LIMIT.name));
  t.equal(none, 0);
  t.equal(new Set([x, y, none]).size, 3);
  t.equal(replaced(0)[0], y);
  t.strictSame(replaced(1), [x]);
  t.notOk([x, y, 0].includes(replaced(0)[1]), 'a name that no limit has is a number of its own');
  t.strictSame(replaced(2), []);
});

t.test('limits of one entry follow each other, with terms that equal limits share', async t => {
  const calendar = { period: 'month', zone: 'Europe/Berlin', starts: 15 } as const;
  const burst = {
    ...FIVE_MINUTES,
    algorithm: 'token_bucket',
    burst: 9_007_199_254_740_991,
    penalty: { after: 1_000, forS: 1, factor: 100, maxS: 31_536_000 },
    tag: '5m.bucket.penalty',
  } as const;
  const month = { ...FIVE_MINUTES, multiplier: 1, calendar, window: 'mönth', tag: 'mönth.x' };
  const item = (level: string): RuleLimit['item'] => ({
    level,
    shadowMode: level === 'trial',
    quotaMode: false,
  });
  const entries = [
    entry('plain', '', { limits: [perHour(1)] }),
    entry('several', '', {
      quotaMode: true,
      metadata: { a: 1 },
      limits: [
        perHour(2, { terms: FIVE_MINUTES, item: item('5m') }),
        perHour(3, { terms: burst, item: item('trial') }),
        perHour(4, { terms: month, item: item('month') }),
      ],
    }),
    entry('same', '', { limits: [perHour(5, { terms: { ...FIVE_MINUTES } })] }),
  ];
  const rules = compiled({ name: 'd', entries });
  const all = [0, 1, 2, 3, 4];
  const field = (name: number): number[] => all.map(limit => rules.limit(limit, name));
  t.strictSame(field(LIMIT.terms), [0, 1, 2, 3, 1]);
  t.strictSame(field(LIMIT.siblings), [0, 2, 0, 0, 0]);
  t.strictSame(
    all.map(limit => rules.path(limit)),
    ['d.plain', 'd.several.5m', 'd.several.trial', 'd.several.month', 'd.same'],
  );
  const { shadow, quota, listed } = LIMIT_FLAG;
  t.strictSame(field(LIMIT.flags), [0, quota | listed, quota | shadow | listed, quota | listed, 0]);
  t.strictSame(field(LIMIT.metadataLength), [0, 7, 7, 7, 0]);
  t.strictSame(
    [0, 1, 2].map(number => rules.terms(number)),
    [FIVE_MINUTES, burst, month].map(terms => ({ ...terms, tag: Buffer.from(terms.tag) })),
  );
  t.equal(rules.terms(1), rules.terms(1), 'they are read once');
});

t.test('what a rule grants of its limits is a record of each, and not a part of how they count', async t => {
  const item = (level: string): RuleLimit['item'] => ({ level, shadowMode: false, quotaMode: false });
  const several = [
    perHour(2, { terms: FIVE_MINUTES, item: item('5m') }),
    perHour(3, { terms: FIVE_MINUTES, item: item('x') }),
  ];
  const rules = compiled(
    {
      name: 'd',
      entries: [
        entry('none', '', { limits: [perHour(1)] }),
        entry('several', '', { limits: several, quota: { share: 8_050, forS: 300 } }),
        entry('usual', '', { limits: [perHour(4)], quota: { ...DEFAULT_QUOTA } }),
        entry('share', '', { limits: [perHour(5)], quota: { share: 100, forS: 10 } }),
      ],
    },
    { name: 'e', entries: [entry('time', '', { limits: [perHour(6)], quota: { share: 10_000, forS: 2 } })] },
  );
  t.strictSame(
    [-1, 0, 1, 2, 3, 4, 5, 6].map(limit => rules.quotaOf(limit)),
    [
      null,
      null,
      { share: 8_050, forS: 300 },
      { share: 8_050, forS: 300 },
      null,
      { share: 100, forS: 10 },
      { share: 10_000, forS: 2 },
      null,
    ],
  );
  t.strictSame(
    [0, 1, 2, 3, 4, 5].map(limit => rules.limit(limit, LIMIT.terms)),
    [0, 1, 1, 0, 0, 0],
  );
});

t.test('rules of another layout are refused', async t => {
  const buffer = compileRules({ domains: [] });
  new Int32Array(buffer)[HEADER.version] = 99;
  t.throws(() => new CompiledRules(buffer), { message: /layout version 99, this program reads version \d+/ });
});
