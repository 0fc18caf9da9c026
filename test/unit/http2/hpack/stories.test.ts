import t from 'tap';
import { decodeAll, decoderWith, fieldsOf } from './blocks.ts';
import { readStories } from './story.ts';

const stories = readStories();

t.test('there are nine stories', async t => {
  t.equal(stories.length, 9);
  t.ok(stories.every(({ blocks }) => blocks.length > 0));
});

for (const { name, blocks } of stories) {
  t.test(`what ${name} wrote is decoded`, async t => {
    const decoder = decoderWith();
    for (const [i, { bytes, fields }] of blocks.entries()) {
      t.same(fieldsOf(decodeAll(decoder, bytes)), fields, `block ${i + 1}`);
    }
  });
}
