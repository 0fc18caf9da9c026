import t from 'tap';
import type { ObjectSchema } from '../../../../src/base/schema/schema.ts';
import { MAX_FAULTS, schemaCheck } from '../../../../src/base/schema/schema-check.ts';

const SCHEMA: ObjectSchema = {
  type: 'object',
  properties: {
    worker: { type: 'string', min: 1, max: 8, pattern: /^[a-z]+$/ },
    priority: { type: 'string', enum: ['high', 'low'], optional: true },
    delay: {
      type: 'one_of',
      of: [
        { type: 'string', pattern: /^\d+s$/ },
        { type: 'number', min: 0 },
      ],
      optional: true,
    },
    attempts: { type: 'number', integer: true, min: 1, max: 3, optional: true },
    atomic: { type: 'boolean', optional: true },
    type: { type: 'string', max: 4, optional: true, nullable: true },
    tags: { type: 'array', items: { type: 'string', max: 3 }, min: 1, max: 2, optional: true },
    headers: { type: 'record', values: { type: 'string', max: 3 }, maxEntries: 2, optional: true },
    payload: { type: 'any', optional: true },
    retry: {
      type: 'object',
      optional: true,
      nullable: true,
      properties: { base: { type: 'number', optional: true }, max: { type: 'number' } },
    },
    tasks: {
      type: 'array',
      optional: true,
      max: 500,
      items: { type: 'object', properties: { key: { type: 'string' } } },
    },
  },
};
const check = schemaCheck(SCHEMA);

/** Pointers and details without the pointers that they begin with, one line each. */
function faultsOf(body: unknown): string[] {
  return (check(body) ?? []).map(({ pointer = '', code, detail }) => {
    const where = pointer === '' ? 'The body' : pointer;
    return detail.startsWith(`${where} `) ? `${pointer} ${code}: ${detail.slice(where.length + 1)}` : detail;
  });
}

t.test('a body that fits has no faults and stays as it is', async t => {
  const body = {
    worker: 'mail',
    priority: 'high',
    delay: 3,
    type: null,
    tags: ['a'],
    headers: JSON.parse('{"__proto__": "x", "a.b": "y"}'),
    payload: null,
    retry: { max: 1 },
  };
  const before = structuredClone(body);
  t.equal(check(body), null);
  t.same(body, before);
  t.same(Object.keys(body.headers), ['__proto__', 'a.b'], 'no name is lost');
  t.equal(check({ worker: 'mail', retry: null }), null);
});

t.test('each fault has a pointer, and says what is accepted', async t => {
  const cases: [unknown, string][] = [
    [{}, '/worker validation_failed: is required'],
    [{ worker: null }, '/worker validation_failed: must not be null'],
    [{ worker: 5 }, '/worker validation_failed: must be a string'],
    [{ worker: 'abcdefghi' }, '/worker validation_failed: must have at most 8 characters'],
    [{ worker: 'A' }, '/worker validation_failed: must match /^[a-z]+$/'],
    [{ worker: 'a', priority: 'x' }, '/priority validation_failed: must be one of: high, low'],
    [{ worker: 'a', priority: null }, '/priority validation_failed: must not be null'],
    [{ worker: 'a', attempts: 1.5 }, '/attempts validation_failed: must be a whole number'],
    [{ worker: 'a', attempts: 0 }, '/attempts validation_failed: must be at least 1'],
    [{ worker: 'a', attempts: 4 }, '/attempts validation_failed: must be at most 3'],
    [{ worker: 'a', atomic: 'yes' }, '/atomic validation_failed: must be true or false'],
    [{ worker: 'a', tags: 'x' }, '/tags validation_failed: must be an array'],
    [{ worker: 'a', tags: [] }, '/tags validation_failed: must have at least 1 items'],
    [{ worker: 'a', tags: ['a', 'b', 'c'] }, '/tags validation_failed: must have at most 2 items'],
    [{ worker: 'a', tags: ['a', null] }, '/tags/1 validation_failed: must not be null'],
    [{ worker: 'a', headers: [] }, '/headers validation_failed: must be an object'],
    [
      { worker: 'a', headers: { a: '', b: '', c: '' } },
      '/headers validation_failed: must have at most 2 entries',
    ],
    [
      { worker: 'a', headers: { a: '', 'a.b[]~2/c': 1 } },
      '/headers/a.b[]~02~1c validation_failed: must be a string',
    ],
    [{ worker: 'a', retry: {} }, '/retry/max validation_failed: is required'],
    [{ worker: 'a', tasks: [{ key: 'a' }, {}] }, '/tasks/1/key validation_failed: is required'],
    [[], ' validation_failed: must be an object'],
    ['x', ' validation_failed: must be an object'],
  ];
  for (const [body, fault] of cases) t.same(faultsOf(body), [fault], JSON.stringify(body));
});

t.test('if one of several schemas has to match, the fault is reported once', async t => {
  t.same(faultsOf({ worker: 'a', delay: true }), ['/delay validation_failed: must be a string or a number']);
  t.same(faultsOf({ worker: 'a', delay: 'soon' }), ['/delay validation_failed: must match /^\\d+s$/']);
  t.same(faultsOf({ worker: 'a', delay: -1 }), ['/delay validation_failed: must be at least 0']);
});

t.test('a field that there is not is a fault of its own, at any depth', async t => {
  const body = { worker: 'a', run_att: 1, retry: { max: 1, bse: 2 } };
  const faults = faultsOf(body);
  t.match(faults[0], /^\/retry\/bse unknown_field: is not a known field; known fields are: base, max$/);
  t.match(faults[1], /^\/run_att unknown_field: .*worker, priority/);
  t.equal(faults.length, 2);
  t.equal(check(JSON.parse('{"worker":"a","__proto__":{}}'))?.[0].pointer, '/__proto__');
  const none = schemaCheck({ type: 'object', properties: {} });
  t.match(none({ '': 1 }), [{ pointer: '/', code: 'unknown_field', detail: /known fields are: none$/ }]);
});

t.test('all faults are reported at once, without values, up to the maximum of a response', async t => {
  t.equal(faultsOf({ worker: 'SECRET', attempts: 'SECRET', tags: ['SECRET'], nonsense: 1 }).length, 4);
  t.notMatch(faultsOf({ worker: 'SECRET', attempts: 'SECRET', tags: ['SECRET'] }).join(), /SECRET/);
  t.equal(check({ worker: 'a', tasks: Array.from({ length: 500 }, () => ({})) })?.length, MAX_FAULTS);
  const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`field_${i}`, 0]));
  t.equal(check({ worker: 'a', ...many })?.length, MAX_FAULTS);
  t.equal(check({ worker: 'a', tags: new Array(1_000_000).fill(null) })?.length, 1);
});

t.test('a name of any length is repeated in part only', async t => {
  const pointer = check({ worker: 'a', ['x'.repeat(100_000)]: 1 })?.[0].pointer ?? '';
  t.ok(pointer.length < 80, pointer);
});
