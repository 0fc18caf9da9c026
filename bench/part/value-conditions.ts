// How long it takes to load rules with many networks and values, and to match one descriptor, compared with an exact value.
// Run: node build/bench/part/value-conditions.js
import { ByteWriter } from '../../src/base/bytes.ts';
import { encodeRateLimitRequest } from '../../src/messages/client-codec.ts';
import { RequestTable } from '../../src/messages/request-table.ts';
import { compileRules } from '../../src/rules/compile.ts';
import { CompiledRules } from '../../src/rules/compiled-rules.ts';
import { Matcher } from '../../src/rules/matching/matcher.ts';
import { loadRuleSet } from '../../src/rules/parse/load.ts';
import { SeededRandom } from '../../test/support/seeded-random.ts';
import { median } from '../support/statistics.ts';
import { formatNumber, formatTable } from '../support/table.ts';

const REQUESTS = 1_000;
const ROUNDS = 200;
const REPETITIONS = 9;

/** Rules, a file of values beside them, and values of requests that the rules match. */
interface Shape {
  readonly entries: readonly string[];
  readonly values?: string;
  readonly asked: (n: number) => string;
}

const random = new SeededRandom(1);
const octets = (): string => [random.below(223) + 1, random.below(256), random.below(256)].join('.');
const words = (): string =>
  (0x2000 + random.below(0x1000)).toString(16).concat(`:${random.below(65_536).toString(16)}`);
const ipv4 = Array.from({ length: 100_000 }, octets);
const ipv6 = Array.from({ length: 100_000 }, () => `${words()}:${random.below(65_536).toString(16)}`);
const pick = <T>(list: readonly T[], n: number): T => list[(n * 7_919) % list.length];

const SHAPES: Readonly<Record<string, Shape>> = {
  'exact, 10 values': {
    entries: Array.from({ length: 10 }, (_, n) => `value: user-${n}`),
    asked: n => `user-${n % 10}`,
  },
  'exact, 100 000 values': {
    entries: Array.from({ length: 100_000 }, (_, n) => `value: user-${n}`),
    asked: n => `user-${(n * 7_919) % 100_000}`,
  },
  'exact, 100 000 addresses': {
    entries: [...new Set(ipv4)].map(network => `value: ${network}.7`),
    asked: n => `${pick(ipv4, n)}.7`,
  },
  'in, 10 values': {
    entries: [`in: [${Array.from({ length: 10 }, (_, n) => `user-${n}`)}]`],
    asked: n => `user-${n % 10}`,
  },
  'in_file, 1 000 000 values': {
    entries: ['in_file: values.txt'],
    values: Array.from({ length: 1_000_000 }, (_, n) => `user-${n}`).join('\n'),
    asked: n => `user-${(n * 7_919) % 1_000_000}`,
  },
  'cidr, 10 networks': {
    entries: [`cidr: [${ipv4.slice(0, 10).map(network => `${network}.0/24`)}]`],
    asked: n => `${ipv4[n % 10]}.7`,
  },
  'cidr_file, 100 000 IPv4 networks': {
    entries: ['cidr_file: values.txt'],
    values: ipv4.map(network => `${network}.0/24`).join('\n'),
    asked: n => `${pick(ipv4, n)}.7`,
  },
  'cidr_file, 100 000 IPv6 networks': {
    entries: ['cidr_file: values.txt'],
    values: ipv6.map(network => `${network}::/48`).join('\n'),
    asked: n => `${pick(ipv6, n)}::7`,
  },
  range: { entries: ['range: {from: 100, to: 200}'], asked: n => String(100 + (n % 100)) },
  matches: { entries: ["matches: '^/api/v[0-9]+/'"], asked: n => `/api/v${n}/users` },
  'matches, the last of 20': {
    entries: Array.from({ length: 20 }, (_, n) => `matches: '^/path${n}/v[0-9]+/'`),
    asked: n => `/path19/v${n}/users`,
  },
};

function loaded({ entries, values }: Shape): CompiledRules {
  const items = entries.map(
    entry => `  - {key: key, ${entry}, rate_limit: {unit: minute, requests_per_unit: 100}}`,
  );
  const content = Buffer.from(['domain: bench', 'descriptors:', ...items, ''].join('\n'));
  const beside =
    values === undefined
      ? []
      : [{ name: 'values.txt', content: Buffer.from(values), format: 'values' as const }];
  return new CompiledRules(
    compileRules(loadRuleSet([{ name: 'rules.yaml', content }, ...beside], { mergeDomains: false })),
  );
}

/** Matches the same requests again and again. Returns nanoseconds per match. */
function timer(rules: CompiledRules, { asked }: Shape): () => number {
  const table = new RequestTable();
  for (let n = 0; n < REQUESTS; n++) {
    const descriptors = [{ entries: [{ key: 'key', value: asked(n) }], limit: null, hitsAddend: null }];
    table.add(encodeRateLimitRequest({ domain: 'bench', descriptors, hitsAddend: 0 }));
  }
  const level = rules.domainLevel(Buffer.from('bench'), 0, 5);
  const matcher = new Matcher();
  const key = new ByteWriter();
  return () => {
    const began = performance.now();
    for (let round = 0; round < ROUNDS; round++) {
      for (let row = 0; row < REQUESTS; row++) {
        key.reset();
        if (matcher.match(rules, level, table, row, key) < 0)
          throw new Error(`no rule matched ${asked(row)}`);
      }
    }
    return ((performance.now() - began) * 1e6) / (ROUNDS * REQUESTS);
  };
}

const measured = Object.entries(SHAPES).map(([name, shape]) => {
  const began = performance.now();
  const rules = loaded(shape);
  return { name, loadMs: performance.now() - began, time: timer(rules, shape), rounds: [] as number[] };
});
for (let repetition = 0; repetition < REPETITIONS; repetition++)
  for (const { time, rounds } of measured) rounds.push(time());
const [, manyValues, addresses] = measured;
const rows = measured.map(({ name, loadMs, rounds }) => [
  name,
  formatNumber(loadMs),
  formatNumber(median(rounds)),
  ...[manyValues, addresses].map(base => median(rounds.map((ns, i) => ns / base.rounds[i])).toFixed(2)),
]);
const head = ['conditions', 'load ms', 'ns per match', '× 100 000 values', '× 100 000 addresses'];
for (const line of formatTable(head, rows)) console.log(line);
