import t from 'tap';
import { FaultList, FileCheck } from '../../../../src/rules/parse/fields/file-check.ts';
import { loadRuleSet } from '../../../../src/rules/parse/load.ts';
import { EntryBudget } from '../../../../src/rules/parse/load-scope.ts';
import { SourceText } from '../../../../src/rules/parse/reading/read-file.ts';
import { readBlockYaml } from '../../../../src/rules/parse/yaml/block-yaml.ts';
import {
  MAX_ENTRIES,
  MAX_ENTRY_LEVELS,
  MAX_FILE_BYTES,
  MAX_NAME_CHARACTERS,
} from '../../../../src/rules/parse/yaml/bounds.ts';
import { faultsOf, load, refusal, withoutPlaces } from './rule-text.ts';

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
