import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import { FIELD_NAMES } from '../../../../src/rules/parse/fields/field-names.ts';
import { type BlockReading, readBlockYaml } from '../../../../src/rules/parse/yaml/block-yaml.ts';
import { MAX_FULL_YAML_TOKENS } from '../../../../src/rules/parse/yaml/bounds.ts';
import { readFullYaml } from '../../../../src/rules/parse/yaml/full-yaml.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { RuleFileWriter } from './rule-file-writer.ts';
import { mutated, YamlWriter } from './yaml-writer.ts';

const DOCUMENTS = 400;

/** True when the complete reader gives the tree that the fast one gave. */
function agree(fast: BlockReading, text: string): boolean {
  return (
    fast.known && isDeepStrictEqual(readFullYaml(text, MAX_FULL_YAML_TOKENS), { root: fast.root, faults: [] })
  );
}

t.test('the fast reader knows every document of its form, and reads it as the complete one', async t => {
  const random = new SeededRandom(20_240_601);
  const writer = new YamlWriter(random);
  const disagreed: string[] = [];
  for (let i = 0; i < DOCUMENTS; i++) {
    const text = writer.document();
    if (!agree(readBlockYaml(text), text)) disagreed.push(text);
  }
  t.strictSame(disagreed, []);
});

t.test('what the fast reader accepts of spoiled documents, the complete reader reads the same', async t => {
  const random = new SeededRandom(7);
  const writer = new YamlWriter(random);
  const disagreed: string[] = [];
  let accepted = 0;
  for (let i = 0; i < DOCUMENTS * 3; i++) {
    const text = mutated(writer.document(), random);
    const fast = readBlockYaml(text);
    if (!fast.known) continue;
    accepted++;
    if (!agree(fast, text)) disagreed.push(text);
  }
  t.strictSame(disagreed, []);
  t.ok(accepted > DOCUMENTS / 2, `enough of them were accepted: ${accepted}`);
});

t.test('both readers give the same tree for rule files of every form that the fast one accepts', async t => {
  const random = new SeededRandom(20_261_122);
  const writer = new RuleFileWriter(random);
  const disagreed: string[] = [];
  const accepted = { plain: 0, withAnchors: 0, spoiled: 0 };
  for (let i = 0; i < DOCUMENTS; i++) {
    const texts = { plain: writer.file(false), withAnchors: writer.file(true), spoiled: '' };
    texts.spoiled = mutated(texts.plain, random);
    for (const [form, written] of Object.entries(texts)) {
      // A byte order mark is removed before a reader gets the text.
      const text = written.replace(/^\ufeff/, '');
      const fast = readBlockYaml(text, FIELD_NAMES);
      if (!fast.known) continue;
      accepted[form as keyof typeof texts]++;
      if (!agree(fast, text)) disagreed.push(text);
    }
  }
  t.strictSame(disagreed, []);
  t.ok(accepted.plain > DOCUMENTS / 3, `of plain files ${accepted.plain} of ${DOCUMENTS} were accepted`);
  t.ok(accepted.spoiled > DOCUMENTS / 10, `of spoiled files ${accepted.spoiled}`);
  t.ok(accepted.withAnchors > 0, `of files that may have anchors ${accepted.withAnchors}`);
});
