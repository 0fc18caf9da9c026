import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import { type BlockReading, readBlockYaml } from '../../../../src/rules/parse/block-yaml.ts';
import { MAX_FULL_YAML_TOKENS } from '../../../../src/rules/parse/bounds.ts';
import { readFullYaml } from '../../../../src/rules/parse/full-yaml.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { mutated, YamlWriter } from './yaml-writer.ts';

const DOCUMENTS = 1200;

/** True when the complete reader gives the tree that the fast one gave. */
function agree(fast: BlockReading, text: string): boolean {
  return (
    fast.known && isDeepStrictEqual(readFullYaml(text, MAX_FULL_YAML_TOKENS), { root: fast.root, faults: [] })
  );
}

t.test(
  'the fast reader knows every document of its form and reads it as the complete reader does',
  async t => {
    const random = new SeededRandom(20_240_601);
    const writer = new YamlWriter(random);
    const disagreed: string[] = [];
    for (let i = 0; i < DOCUMENTS; i++) {
      const text = writer.document();
      if (!agree(readBlockYaml(text), text)) disagreed.push(text);
    }
    t.strictSame(disagreed, []);
  },
);

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
