// How long matching one descriptor takes, by the number of rules on its level. Run: node build/bench/part/rule-lookup.js
import { ByteWriter } from '../../src/base/bytes.ts';
import { encodeRateLimitRequest } from '../../src/messages/client-codec.ts';
import { RequestTable } from '../../src/messages/request-table.ts';
import { compileRules } from '../../src/rules/compile.ts';
import { CompiledRules } from '../../src/rules/compiled-rules.ts';
import { Matcher } from '../../src/rules/matching/matcher.ts';
import type { RuleEntry } from '../../src/rules/rule-set.ts';

const REQUESTS = 1_000;
const ROUNDS = 300;
const REPETITIONS = 7;

/** What stands behind the number of a rule's value, and of a request's. */
const SHAPES = {
  exact: { rule: (n: number) => `user-${n}`, request: (n: number) => `user-${n}` },
  'trailing *': { rule: (n: number) => `user-${n}/*`, request: (n: number) => `user-${n}/photos` },
  'leading *': {
    rule: (n: number) => `*.tenant-${n}.example`,
    request: (n: number) => `www.tenant-${n}.example`,
  },
  '* in between *': {
    rule: (n: number) => `/api/*/item${n}/*`,
    request: (n: number) => `/api/v1/item${n}/photos`,
  },
} as const;

function entryOf(value: string): RuleEntry {
  return {
    key: 'key',
    value,
    composite: `key_${value}`,
    limits: [
      {
        unit: 'minute',
        requestsPerUnit: 100,
        unlimited: false,
        name: '',
        replaces: [],
        terms: null,
        item: null,
      },
    ],
    shadowMode: false,
    quotaMode: false,
    detailedMetric: false,
    valueToMetric: false,
    shareThreshold: false,
    metadata: null,
    entries: [],
  };
}

function nanosecondsPerMatch(shape: keyof typeof SHAPES, ruleCount: number): number {
  const { rule, request } = SHAPES[shape];
  const entries = Array.from({ length: ruleCount }, (_, n) => entryOf(rule(n)));
  const rules = new CompiledRules(compileRules({ domains: [{ name: 'bench', entries }] }));
  const table = new RequestTable();
  const spread = Math.max(Math.floor(ruleCount / REQUESTS), 1);
  for (let n = 0; n < REQUESTS; n++) {
    const value = request((n * spread) % ruleCount);
    const descriptors = [{ entries: [{ key: 'key', value }], limit: null, hitsAddend: null }];
    table.add(encodeRateLimitRequest({ domain: 'bench', descriptors, hitsAddend: 0 }));
  }
  const level = rules.domainLevel(Buffer.from('bench'), 0, 5);
  const matcher = new Matcher();
  const key = new ByteWriter();
  const rounds: number[] = [];
  for (let repetition = 0; repetition < REPETITIONS; repetition++) {
    const began = performance.now();
    for (let round = 0; round < ROUNDS; round++) {
      for (let row = 0; row < REQUESTS; row++) {
        key.reset();
        if (matcher.match(rules, level, table, row, key) < 0)
          throw new Error(`no rule matched request ${row}`);
      }
    }
    rounds.push(((performance.now() - began) * 1e6) / (ROUNDS * REQUESTS));
  }
  return rounds.sort((a, b) => a - b)[REPETITIONS >> 1];
}

console.log('ns per match (median)   10 rules   1 000 rules   100 000 rules');
for (const shape of Object.keys(SHAPES) as (keyof typeof SHAPES)[]) {
  const [few, some, many] = [10, 1_000, 100_000].map(count => nanosecondsPerMatch(shape, count).toFixed(0));
  console.log(`${shape.padEnd(20)} ${few.padStart(11)} ${some.padStart(13)} ${many.padStart(15)}`);
}
