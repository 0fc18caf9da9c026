import { performance } from 'node:perf_hooks';
import { FIELD_NAMES } from '../../src/rules/parse/fields/field-names.ts';
import { loadRuleSet } from '../../src/rules/parse/load.ts';
import { readBlockYaml } from '../../src/rules/parse/yaml/block-yaml.ts';
import { MAX_FULL_YAML_TOKENS } from '../../src/rules/parse/yaml/bounds.ts';
import { readFullYaml } from '../../src/rules/parse/yaml/full-yaml.ts';

/*
 * How long rule files take to read and check: `node bench/part/rule-load.ts`.
 * Block form, five lines a rule, all on one level, as a generator would write them.
 */

const RUNS = 7;

function ruleFile(rules: number): string {
  const lines = ['domain: bench', 'descriptors:'];
  for (let i = 0; i < rules; i++) {
    lines.push(
      '  - key: remote_address',
      `    value: client_number_${i}`,
      '    rate_limit:',
      '      unit: minute',
      `      requests_per_unit: ${1 + (i % 1000)}`,
    );
  }
  return `${lines.join('\n')}\n`;
}

/** Runs a few times, each on fresh memory as far as that can be had, and prints the first, median and best time. */
function report(what: string, run: () => void): void {
  const times: number[] = [];
  for (let i = 0; i < RUNS; i++) {
    globalThis.gc?.();
    const start = performance.now();
    run();
    times.push(performance.now() - start);
  }
  const [first] = times;
  times.sort((a, b) => a - b);
  const shown = [first, times[RUNS >> 1], times[0]].map(time => time.toFixed(0).padStart(6)).join(' ');
  console.log(`${what.padEnd(44)}${shown}`);
}

const large = ruleFile(100_000);
const content = Buffer.from(large);
const small = ruleFile(10_000);
console.log(`${`ms (large file: ${(content.length / 1e6).toFixed(1)} MB)`.padEnd(44)} first median   best`);
report('read and check 100 000 rules', () =>
  loadRuleSet([{ name: 'bench.yaml', content }], { mergeDomains: false }),
);
report('fast reader alone, 100 000 rules', () => readBlockYaml(large, FIELD_NAMES));
report('fast reader alone, 10 000 rules', () => readBlockYaml(small, FIELD_NAMES));
report('complete reader alone, 10 000 rules', () => readFullYaml(small, MAX_FULL_YAML_TOKENS));
