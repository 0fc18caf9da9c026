import t from 'tap';
import { parseExactly } from '../../../../../src/tasks/rest/checks/exact-json.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';

/** Numbers that come out as other ones where they are read as doubles. */
const LONG = [
  '9007199254740993',
  '12345678901234567890',
  '-9223372036854775808',
  '1e999',
  '-1E+999',
  '1e-400',
  '0.1234567890123456789',
  '3.141592653589793238462643',
];

t.test('numbers that no double holds are written again as they were', async t => {
  for (const number of LONG) {
    for (const text of [number, `[${number}]`, `{"a":{"b":[1,${number},"x"]},"c":${number}}`]) {
      t.equal(JSON.stringify(parseExactly(text)), text);
    }
  }
});

t.test('all other numbers are numbers, whatever stands beside them', async t => {
  const text = '[9007199254740992, 1.50, 0.1, 0.30000000000000004, 1e300, 1000000000000000000000, -0, 1e-7]';
  t.same(parseExactly(text), JSON.parse(text));
  const beside = parseExactly(`{"a":1.50,"b":${LONG[0]},"s":"${LONG[0]}","e":"x\\"${LONG[0]}"}`);
  t.equal(JSON.stringify(beside), `{"a":1.5,"b":${LONG[0]},"s":"${LONG[0]}","e":"x\\"${LONG[0]}"}`);
});

t.test('invalid JSON has the same error as with JSON.parse', async t => {
  for (const text of [
    `[${LONG[0]}`,
    `{"a":0${LONG[0]}}`,
    `[${LONG[0]}.]`,
    `-${LONG[2]}`,
    `"${LONG[0]}`,
    `${LONG[0]}${LONG[2]}`,
  ]) {
    let told = '';
    try {
      JSON.parse(text);
    } catch (thrown) {
      told = String(thrown);
    }
    t.throws(() => parseExactly(text), { message: told.replace('SyntaxError: ', '') }, text);
  }
});

t.test('names that are numbers, or mean something to JavaScript, stay as they are', async t => {
  const text = `{"__proto__":{"1e999":${LONG[0]}},"constructor":${LONG[1]}}`;
  t.equal(JSON.stringify(parseExactly(text)), text);
  t.equal(({} as Record<string, unknown>)['1e999'], undefined);
});

t.test('payloads and results are given as they came, and fields have plain numbers', async t => {
  const rest = await TaskHarness.open();
  await rest.pullWorker();
  const payload = `{"id":${LONG[1]},"all":[${LONG.join(',')}]}`;
  const fields = `"worker":"crawler","retry":{"factor":1.00000000000000010000},"payload":${payload}`;
  const made = await rest.at('POST', 'tasks', `{${fields}}`);
  t.equal(made.status, 201, made.body);
  t.equal(made.json.retry.factor, 1);
  t.ok(made.body.includes(payload), 'in the answer');
  t.ok((await rest.at('GET', `tasks/${made.json.id}`)).body.includes(payload), 'when it is read');
  t.ok((await rest.at('GET', 'tasks?include=payload')).body.includes(payload), 'in lists');
  t.equal((await rest.store.getWhole('acme', made.json.id))?.body.payload, payload, 'to push workers');
  const leased = await rest.at('POST', 'workers/crawler/leases');
  t.ok(leased.body.includes(payload), 'to pull workers');
  const lease = leased.json.leases[0].lease_id;
  t.equal((await rest.at('POST', `leases/${lease}/complete`, `{"result":${payload}}`)).status, 200);
  t.ok((await rest.at('GET', `tasks/${made.json.id}`)).body.includes(`"result":${payload}`), 'as a result');
  const batch = await rest.at('POST', 'tasks/batch', `{"tasks":[{${fields}}]}`);
  const id = batch.json.results[0].task.id;
  t.equal((await rest.store.getWhole('acme', id))?.body.payload, payload, 'in a batch');
  const schedule = `{"name":"s","worker":"crawler","every":"1h","task":{"payload":${payload}}}`;
  t.ok((await rest.at('POST', 'schedules', schedule)).body.includes(payload));
  t.ok((await rest.at('GET', 'schedules/s')).body.includes(payload), 'in a schedule');
  for (const body of ['{"name":"w","concurrency":1e999}', `{"name":"w","concurrency":${LONG[0]}}`]) {
    t.match((await rest.at('POST', 'workers', body)).json, { code: 'validation_failed' });
  }
});

t.test('a body that is nothing but long numbers is refused, and says why', async t => {
  const rest = await TaskHarness.open();
  const answer = await rest.at('POST', 'tasks', `[${`${LONG[0]},`.repeat(100_000)}${LONG[0]}]`);
  t.match(answer.json, {
    code: 'invalid_json',
    detail: /more digits than a double can represent. Send them as strings/,
  });
});
