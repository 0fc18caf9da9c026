import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { readRuleDirectory } from '../../../../src/rules/source/read-directory.ts';
import { startSource } from './started-source.ts';

t.test('files that rules name are read after the rules, and no others', async t => {
  const directory = t.testdir({
    'a.yaml': 'descriptors: [{in_file: plans.txt}]',
    'b.yaml': 'descriptors: [] # notes.txt',
    'notes.txt': 'n',
    'plans.txt': 'gold',
  });
  const { files, ignored, hasValueFiles } = await readRuleDirectory(directory, { ignoreDotFiles: true });
  t.same(
    files.map(({ name, format }) => [name, format]),
    [
      [join(directory, 'a.yaml'), undefined],
      [join(directory, 'b.yaml'), undefined],
      [join(directory, 'plans.txt'), 'values'],
    ],
  );
  t.same(ignored, ['notes.txt']);
  t.ok(hasValueFiles);
});

t.test('a file is named by a field, and not by any text of the rules', async t => {
  const directory = t.testdir({
    'a.yaml': `domain: shop
descriptors:
  - {key: a, in_file: one.txt}
  - key: b
    "cidr_file": "two.txt" # and shop, gold
  - {key: c, not: {in_file: 'three.txt'}}
  - key: d
    in_file: four.txt
  - {key: e, in_file: p#5.txt}
  - key: f
    in_file: p, 6.txt
#   in_file: shop
  - {key: g, in_file: seven}
`,
    'one.txt': '1',
    'two.txt': '2',
    'three.txt': '3',
    'four.txt': '4',
    'p#5.txt': '5',
    'p, 6.txt': '6',
    seven: '7',
    sev: 'not read',
    gold: 'not read',
    shop: { 'x.txt': 'a directory' },
  });
  const { files, ignored } = await readRuleDirectory(directory, { ignoreDotFiles: true });
  const texts = files.slice(1).map(({ content }) => Buffer.from(content).toString());
  t.same(texts.sort(), ['1', '2', '3', '4', '5', '6', '7']);
  t.same(ignored, ['gold', 'sev', 'shop']);
});

t.test('a change of a file of values loads the rules again, also if it was missing', async t => {
  const root = t.testdir({ config: { 'a.yaml': 'in_file: plans.txt', 'plans.txt': 'gold' } });
  const { first, loader } = await startSource(t, { root, watchRoot: false });
  const plans = join(root, 'config', 'plans.txt');
  t.same(first, { loaded: 'in_file: plans.txt gold' });
  writeFileSync(plans, 'silver');
  t.ok(await loader.until('in_file: plans.txt silver'));
  rmSync(plans);
  t.ok(await loader.until('in_file: plans.txt'));
  writeFileSync(plans, 'bronze');
  t.ok(await loader.until('in_file: plans.txt bronze'));
});
