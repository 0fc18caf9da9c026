import t from 'tap';
import { Cursors, pageAnswer } from '../../../../../src/tasks/rest/http/page.ts';

const MIB = 1024 * 1024;
const PAGE = {
  cursors: new Cursors(Buffer.alloc(32)),
  identity: { tenant: 'acme', list: 'items', filters: {} },
  target: '/items?',
  limit: 200,
  order: 'asc',
  after: null,
} as const;

/** Number of items on the page if items of these sizes are found. */
function onPage(...sizes: readonly number[]): number {
  const { text } = pageAnswer(PAGE, sizes, {
    placeOf: String,
    write: size => `"${'x'.repeat(size - 2)}"`,
  });
  return JSON.parse(text as string).data.length;
}

t.test('a page ends before the item that exceeds 1 MiB; only its first item may be larger', async t => {
  t.equal(onPage(MIB - 10, 10), 2);
  t.equal(onPage(MIB - 10, 11), 1);
  t.equal(onPage(MIB + 1, 10), 1);
});
