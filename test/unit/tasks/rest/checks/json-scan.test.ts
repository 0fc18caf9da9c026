import t from 'tap';
import { countNames, type JsonBounds, scanJson } from '../../../../../src/tasks/rest/checks/json-scan.ts';
import { SeededRandom } from '../../../../support/seeded-random.ts';

function scanned(text: string, bounds: Partial<JsonBounds> = {}) {
  return scanJson(Buffer.from(text), { depth: 64, parts: 1_000, items: new Map(), ...bounds });
}

/** Null when no bound is exceeded. */
function excess(text: string, bounds: Partial<JsonBounds> = {}) {
  const found = scanned(text, bounds);
  return typeof found === 'number' ? null : found;
}

/** Brackets that open, commas and colons. */
function partsOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const inner = Array.isArray(value) ? value : Object.values(value);
  const names = Array.isArray(value) ? 0 : inner.length;
  return inner.reduce((sum: number, item) => sum + partsOf(item), 1 + names + Math.max(inner.length - 1, 0));
}

function randomValue(random: SeededRandom, depth: number): unknown {
  const items = () => Array.from({ length: random.below(5) }, () => randomValue(random, depth - 1));
  switch (random.below(depth > 0 ? 6 : 4)) {
    case 0:
      return random.pick(['', 'x', '"', '\\', '\\"', '[{,:}]', '{"a":[1,2]}', 'é€😀', '\n\u0000']);
    case 1:
      return random.pick([0, -1.5, 1e300]);
    case 2:
      return random.pick([true, false, null]);
    case 3:
      return [];
    case 4:
      return items();
    default:
      return Object.fromEntries(items().map((item, i) => [random.pick(['a', ',', ':"[', '\\']) + i, item]));
  }
}

t.test('values and names are counted, whatever strings hold', async t => {
  const random = new SeededRandom(3);
  for (let i = 0; i < 500; i++) {
    const value = [randomValue(random, 6)];
    const text = JSON.stringify(value, null, random.below(3));
    const parts = partsOf(value);
    t.equal(scanned(text, { parts }), countNames(value), text);
    t.same(excess(text, { parts: parts - 1 }), { kind: 'parts' }, text);
  }
});

t.test('levels are counted', async t => {
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '}'],
  ]) {
    const deep = (levels: number) => `${open.repeat(levels)}0${close.repeat(levels)}`;
    t.equal(excess(deep(64)), null);
    t.same(excess(deep(65)), { kind: 'depth' });
  }
  t.equal(excess(`[${'[[]],'.repeat(100)}"${'['.repeat(100)}"]`, { depth: 3 }), null, 'those that are open');
});

t.test('items of a list that has a bound are counted, and of no other', async t => {
  const bounds = { items: new Map([['list', 3]]) };
  const tooMany = { kind: 'items', name: 'list', max: 3 };
  for (const text of [
    '{"list":[1,2,3,4]}',
    '{"list":[{},{},{},{}]}',
    '{"a":["list"],"list":[[1,2],"x,y",{"a":[],"b":1},4]}',
    '{ "list" : [ 1 , 2 , 3 , 4 ] }',
    '{"list":[1],"list":[1,2,3,4]}',
    '{"list":[1,2,3,4',
  ]) {
    t.same(excess(text, bounds), tooMany, text);
  }
  for (const text of [
    '{"list":[]}',
    '{"list":[1,2,3]}',
    '{"list":[[1,2,3,4],{"list":[1,2,3,4]},{"a":1,"b":2,"c":3,"d":4}]}',
    '{"list":{"a":1,"b":2,"c":3,"d":4,"e":5}}',
    '{"other":[1,2,3,4],"list":[1]}',
    '{"list":["1,2,3,4"]}',
    '[1,2,3,4]',
    '{"list":1,"a":1,"b":2,"c":3,"d":4}',
  ]) {
    t.equal(excess(text, bounds), null, text);
  }
});

t.test('invalid JSON ends with the text', async t => {
  for (const text of ['', '"', '"\\', '\\"', ']]]]', '}{', '["a', ',,,:::', '{"a":[}]']) {
    t.equal(excess(text), null, text);
  }
});
