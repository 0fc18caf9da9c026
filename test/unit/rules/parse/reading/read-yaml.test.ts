import t from 'tap';
import { readYaml } from '../../../../../src/rules/parse/reading/read-file.ts';

t.test('what the fast reader does not know is read by the complete one', async t => {
  const scalar = { kind: 'scalar', text: 'b', plain: true };
  for (const text of ['a: b', 'a: &x b']) {
    const { root, faults } = readYaml(text);
    t.match(root, { kind: 'map', pairs: [{ key: 'a', value: scalar }] }, text);
    t.strictSame(faults, [], text);
  }
});

t.test('a text too large for the complete reader is refused where the fast one stopped', async t => {
  const { root, faults } = readYaml('a: b\nc: &x d\n', 5);
  t.equal(root, null);
  t.equal(faults.length, 1);
  t.equal(faults[0].offset, 8);
  t.match(faults[0].message, /^a file this large must be plain block YAML with at most 8000000 values/);
});
