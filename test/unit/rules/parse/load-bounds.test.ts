import t from 'tap';
import { FaultList, FileCheck } from '../../../../src/rules/parse/fields/file-check.ts';
import { loadRuleSet } from '../../../../src/rules/parse/load.ts';
import { EntryBudget, ExtraRowBudget } from '../../../../src/rules/parse/load-scope.ts';
import { SourceText } from '../../../../src/rules/parse/reading/read-file.ts';
import { readBlockYaml } from '../../../../src/rules/parse/yaml/block-yaml.ts';
import {
  MAX_ENTRIES,
  MAX_ENTRY_LEVELS,
  MAX_EXTRA_ROWS,
  MAX_FILE_BYTES,
  MAX_NAME_CHARACTERS,
} from '../../../../src/rules/parse/yaml/bounds.ts';
import { faultsOf, load, loadEntry, refusal, withoutPlaces } from './rule-text.ts';

function nested(levels: number): string {
  let text = 'domain: d\n';
  for (let level = 0; level < levels; level++) {
    const indent = '  '.repeat(level);
    text += `${indent}descriptors:\n${indent}- key: k\n`;
  }
  return text;
}

t.test('entries may be nested down to a bound', async t => {
  t.equal(load(nested(MAX_ENTRY_LEVELS)).domains.length, 1);
  const [fault] = faultsOf(nested(MAX_ENTRY_LEVELS + 1));
  t.equal(fault.message, 'entries are nested deeper than 256 levels: write fewer levels');
  t.equal(fault.line, 2 * MAX_ENTRY_LEVELS + 3);
});

t.test('the complete reader takes as many levels as the fast one', async t => {
  const flow = (levels: number): string =>
    `{key: k${levels > 1 ? `, descriptors: [${flow(levels - 1)}]` : ''}}`;
  const deepest = nested(MAX_ENTRY_LEVELS);
  for (const text of [
    `domain: &d d${deepest.slice('domain: d'.length)}`,
    `domain: d\ndescriptors: [&x ${flow(256)}]`,
  ]) {
    t.notOk(readBlockYaml(text).known);
    t.strictSame(withoutPlaces(load(text)), withoutPlaces(load(deepest)));
  }
});

t.test('a file that is too large is refused unread', async t => {
  const content = new Uint8Array(MAX_FILE_BYTES + 1);
  t.throws(() => loadRuleSet([{ name: 'big.yaml', content }], { mergeDomains: false }), {
    message:
      'big.yaml: the file has 67108865 bytes, and at most 67108864 are read: split it into several files',
  });
});

t.test('the entries of a load are counted, and one too many is reported once', async t => {
  const faults = new FaultList();
  const check = new FileCheck(new SourceText('a.yaml', ''), faults);
  const budget = new EntryBudget();
  for (let i = 0; i < MAX_ENTRIES; i++) budget.take(check, 0);
  t.doesNotThrow(() => faults.throwIfAny());
  t.equal(budget.take(check, 0), false);
  t.equal(budget.take(check, 0), false);
  t.throws(() => faults.throwIfAny(), {
    message: /^a.yaml:1:1: there are more than 1000000 entries in all files: remove some$/,
  });
});

t.test('the full names of all entries have a bound, and too many characters are reported once', async t => {
  const faults = new FaultList();
  const check = new FileCheck(new SourceText('a.yaml', ''), faults);
  const budget = new EntryBudget();
  check.enter('k'.repeat(MAX_NAME_CHARACTERS / 4 - 1));
  for (let i = 0; i < 4; i++) budget.takeName(check, 0);
  t.doesNotThrow(() => faults.throwIfAny());
  for (let i = 0; i < 2; i++) budget.takeName(check, 0);
  t.throws(() => faults.throwIfAny(), {
    message: /^a.yaml:1:1: k+…: the full names of all entries have more than 536870912 characters: [^\n]*$/,
  });
});

t.test('the rows of statistics of classes are counted, and one too many is reported once', async t => {
  const faults = new FaultList();
  const check = new FileCheck(new SourceText('a.yaml', ''), faults);
  const budget = new ExtraRowBudget();
  const [{ terms }] = loadEntry(
    'key: k\nrate_limit: {unit: day, requests_per_unit: 5, classes: {key: t, a: 100%, b: 50%, c: 20%}}',
  ).limits;
  const [{ terms: after }] = loadEntry(
    'key: k\nrate_limit: {unit: day, requests_per_unit: 5, after_limit: {admit: 5%}}',
  ).limits;
  for (let i = 0; i < MAX_EXTRA_ROWS / 4 - 1; i++) budget.take(check, 0, terms!);
  for (let i = 0; i < 4; i++) budget.take(check, 0, after!);
  t.doesNotThrow(() => faults.throwIfAny());
  for (let i = 0; i < 2; i++) budget.take(check, 0, after!);
  t.throws(() => faults.throwIfAny(), {
    message:
      'a.yaml:1:1: the limits of all files have more than 1000000 classes, each with statistics of its own (one more for ' +
      'each limit with `classes`, one for each `after_limit`, and four for each `reserve` and `concurrency`): write fewer ' +
      'classes, or `default` for several of them',
  });
});

t.test('too many classes in all files are refused with the place of the limit', async t => {
  const classes = Array.from({ length: 16 }, (_, i) => `c${i}: 100%`).join(', ');
  const limit = (name: number) =>
    `{name: n${name}, window: 1m, requests_per_unit: 1, classes: {key: t, ${classes}}}`;
  const limits = Array.from({ length: 8 }, (_, i) => limit(i)).join(', ');
  const rules = 1_000;
  const entry = (number: number) => `  - {key: k${number}, rate_limits: *limits}\n`;
  const file = (number: number) =>
    `domain: d${number}\ndescriptors:\n  - {key: first, rate_limits: &limits [${limits}]}\n` +
    Array.from({ length: rules - 1 }, (_, i) => entry(i)).join('');
  const files = Array.from({ length: Math.ceil(MAX_EXTRA_ROWS / (rules * 8 * 17)) }, (_, i) => file(i));
  const faults = faultsOf(Object.fromEntries(files.map((text, i) => [`${i}.yaml`, text])));
  t.match(faults, [{ file: '7.yaml', line: 3, path: /^d7\.k\d+$/, message: /more than 1000000 classes/ }]);
});

t.test('nesting, bombs of aliases and endless texts are refused with a place', async t => {
  t.match(
    refusal(`domain: ${'['.repeat(10_000)}`),
    /^rules.yaml:1:\d+: maps and lists are nested deeper than 600 levels/,
  );
  const bomb = Array.from({ length: 40 }, (_, i) => `- &a${i + 1} {key: k, descriptors: [*a${i}, *a${i}]}`);
  t.match(
    refusal(`- &a0 {key: k}\n${bomb.join('\n')}`),
    /^rules.yaml:\d+:\d+: \d+ of the \d+ values up to here come from aliases, which is too many/,
  );
  t.match(refusal(`domain: "${'x\n'.repeat(50_000)}`), /^rules.yaml:1:9: .* never closed/);
});

t.test('a flood of faults is cut short', async t => {
  const keys = Array.from({ length: 50_000 }, (_, i) => `unknown${i}: 1\n`).join('');
  t.equal(faultsOf(keys).length, 20);
  t.equal(faultsOf(`domain: d\ndescriptors: [${'x, '.repeat(50_000)}]`).length, 20);
});
