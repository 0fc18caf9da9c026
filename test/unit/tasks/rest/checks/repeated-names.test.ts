import t from 'tap';
import { repeatedName } from '../../../../../src/tasks/rest/checks/json-scan.ts';
import { problem } from '../../../../support/tasks/rest-harness.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(() => TaskHarness.open());

const REPEATED: readonly [text: string, pointer: string][] = [
  ['{"worker":"mailer","worker":"mailer"}', '/worker'],
  ['{"worker":"mailer","run_at":"2027-01-01T00:00:00Z","run_at":null}', '/run_at'],
  ['{"worker":"mailer","\\u0077orker":"mailer"}', '/worker'],
  ['{"worker":"mailer","retry":{"base":1,"factor":2,"base":1}}', '/retry/base'],
  ['{"worker":"mailer","metadata":{"a":"1","a":"1"}}', '/metadata/a'],
  ['{"worker":"mailer","payload":{"a":1,"a":2}}', '/payload/a'],
  ['{"worker":"mailer","payload":[0,"{",[{"b":[]},{"a":{},"a":[]}]]}', '/payload/2/1/a'],
  ['{"worker":"mailer","payload":{"a/b~":1,"a/b~":2}}', '/payload/a~1b~0'],
  ['{"worker":"mailer","payload":{"__proto__":1,"__proto__":2}}', '/payload/__proto__'],
  ['{"worker":"mailer","payload":{"":1,"":2}}', '/payload/'],
  ['{"worker":"mailer","payload":{"a":99999999999999999,"b":1e-400,"b":2}}', '/payload/b'],
  ['{"worker":"mailer","payload":{"1":1,"x\\\\":"\\"","1":2}}', '/payload/1'],
];

test('a name that an object has twice is refused, and the place is named', async (rest, t) => {
  await rest.pushWorker();
  for (const [body, pointer] of REPEATED) {
    const answer = await rest.at('POST', 'tasks', body);
    const errors = [{ pointer, code: 'repeated_name' }];
    t.match(answer, problem('invalid_json', { errors }), body);
    const batch = await rest.at('POST', 'tasks/batch', `{"tasks":[${body}]}`);
    t.equal(batch.json.errors[0].pointer, `/tasks/0${pointer}`);
  }
  t.same((await rest.read('tasks')).data, []);
});

test('equal names in different objects are not repeated names', async (rest, t) => {
  await rest.pushWorker();
  const payload =
    '{"a":{"a":[{"a":1},{"a":1}]},"b":{"a":99999999999999999},"A":"a","toString":"{\\"a\\":1}"}';
  const made = await rest.at('POST', 'tasks', `{"worker":"mailer","payload":${payload}}`);
  t.equal(made.status, 201);
  t.match((await rest.at('GET', `tasks/${made.json.id}`)).body, `"payload":${payload}`);
});

t.test('a text without a repeated name has none', async t => {
  for (const text of ['0', '"a"', '[]', '[{"a":1},{"a":1}]', '{"a":{"a":{"a":"a"}},"b":["a","a"]}']) {
    t.equal(repeatedName(text), null, text);
  }
});

test('a long name is cut where it is named, and many of them cost little', async (rest, t) => {
  const name = 'n'.repeat(100_000);
  const answer = await rest.at('POST', 'tasks', `{"${name}":1,"${name}":2}`);
  t.equal(answer.json.errors[0].pointer, `/${'n'.repeat(64)}…`);
  const many = Array.from({ length: 250_000 }, (_, i) => `"f${i}":0`).join(',');
  const last = await rest.at('POST', 'tasks', `{"payload":{${many},"f7":0}}`);
  t.equal(last.json.errors[0].pointer, '/payload/f7');
});
