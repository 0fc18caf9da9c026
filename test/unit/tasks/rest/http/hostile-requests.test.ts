import { type Asked, problem } from '../../../../support/tasks/rest-harness.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(open);

const MIB = 1024 * 1024;

async function open(): Promise<TaskHarness> {
  const rest = await TaskHarness.open();
  await rest.pushWorker();
  return rest;
}

/** A task whose further members are this text; `{` and the worker are put before it. */
function taskText(members: string): string {
  return `{"worker":"mailer",${members}}`;
}

function manyFields(count: number, value = '1'): string {
  return `{${Array.from({ length: count }, (_, i) => `"f${i}":${value}`).join(',')}}`;
}

/** The code of a refusal, or the status. */
async function told(rest: TaskHarness, method: string, target: string, body?: unknown, asked: Asked = {}) {
  const answer = await rest.at(method, target, body, asked);
  return answer.json?.code ?? answer.status;
}

test('what is too large, too deep or too many is refused, by what it is', async (rest, t) => {
  const cases: [string, string, unknown][] = [
    ['a body of one byte more', 'body_too_large', Buffer.alloc(6 * MIB + 1, ' ')],
    ['65 levels', 'invalid_json', taskText(`"payload":${'['.repeat(64)}${']'.repeat(64)}`)],
    ['300 000 levels', 'invalid_json', '['.repeat(300_000)],
    ['a million values', 'body_too_large', taskText(`"payload":[${'0,'.repeat(1_000_000)}0]`)],
    ['a million objects', 'body_too_large', `[${'{},'.repeat(1_000_000)}{}]`],
    ['300 000 names', 'body_too_large', taskText(`"payload":${manyFields(300_000)}`)],
    [
      'as many names that are one',
      'body_too_large',
      taskText(`"payload":{${'"a":0,'.repeat(300_000)}"a":0}`),
    ],
    ['a name of 5 MiB', 'unknown_field', `{"${'n'.repeat(5 * MIB)}":0}`],
    ['a number of 5 MiB', 'unknown_field', `{"n":${'9'.repeat(5 * MIB)}}`],
    ['300 000 quotes', 'invalid_json', '"'.repeat(300_000)],
    ['300 000 backslashes', 'validation_failed', `"${'\\'.repeat(300_000)}"`],
    ['100 000 fields', 'unknown_field', manyFields(100_000)],
    ['100 000 fields of an object', 'unknown_field', taskText(`"retry":${manyFields(100_000)}`)],
    [
      '100 000 entries of metadata',
      'validation_failed',
      taskText(`"metadata":${manyFields(100_000, '"1"')}`),
    ],
    ['100 000 headers', 'validation_failed', taskText(`"headers":${manyFields(100_000, '"1"')}`)],
    ['10 000 tags', 'validation_failed', taskText(`"tags":[${'"x",'.repeat(9_999)}"x"]`)],
    ['a tag of 65 characters', 'validation_failed', taskText(`"tags":["${'x'.repeat(65)}"]`)],
    ['metadata of 4 KiB and more', 'validation_failed', taskText(`"metadata":{"a":"${'x'.repeat(4096)}"}`)],
    ['a type of 129 characters', 'validation_failed', taskText(`"type":"${'x'.repeat(129)}"`)],
    ['a key of 256 characters', 'validation_failed', taskText(`"key":"${'x'.repeat(256)}"`)],
    ['a payload of one byte more', 'payload_too_large', taskText(`"payload":"${'x'.repeat(262_143)}"`)],
    ['a payload that is large in bytes', 'payload_too_large', taskText(`"payload":"${'€'.repeat(90_000)}"`)],
    ['headers of 8 KiB and more', 'validation_failed', taskText(`"headers":{"a":"${'x'.repeat(8192)}"}`)],
  ];
  for (const [name, code, body] of cases) t.equal(await told(rest, 'POST', 'tasks', body), code, name);
  t.equal(await told(rest, 'POST', 'tasks', taskText(`"payload":"${'x'.repeat(262_142)}"`)), 201);
  const deep = taskText(`"payload":${'['.repeat(63)}${']'.repeat(63)}`);
  t.equal(await told(rest, 'POST', 'tasks', deep), 201);
  const batch = `{"tasks":[${'0,'.repeat(1_000_000)}0]}`;
  t.equal(await told(rest, 'POST', 'tasks/batch', batch), 'batch_too_large');
  const large = { tasks: [{ worker: 'mailer', payload: 'x'.repeat(5 * MIB) }] };
  t.equal(await told(rest, 'POST', 'tasks/batch', large), 'batch_too_large');
  const ids = `{"action":"cancel","ids":[${'"",'.repeat(100_000)}""]}`;
  t.equal(await told(rest, 'POST', 'tasks/actions', ids), 'validation_failed');
});

test('numbers that no field can hold are refused', async (rest, t) => {
  for (const members of [
    '"delay":1e999',
    '"delay":-1',
    '"timeout":1e-400',
    '"expires_in":1e15',
    '"retry":{"max_attempts":1e999}',
    '"retry":{"max_attempts":1.5}',
    '"retry":{"factor":-0}',
    '"retry":{"jitter":1.0000001}',
    '"run_at":1767225600',
    '"run_at":"+275760-09-13T00:00:00Z"',
    '"run_at":"2026-02-30T00:00:00Z"',
    '"expires_at":"9999-12-31T23:59:59Z"',
  ]) {
    t.equal(await told(rest, 'POST', 'tasks', taskText(members)), 'validation_failed', members);
  }
  for (const members of [
    '"concurrency":1e999',
    '"rate":{"limit":9007199254740993,"per":1}',
    '"lease":1e999',
  ]) {
    t.equal(await told(rest, 'POST', 'workers', `{"name":"w",${members}}`), 'validation_failed', members);
  }
});

test('what is not JSON in UTF-8 is refused, without a word of it in the answer', async (rest, t) => {
  const canary = 'c4nary';
  const texts: unknown[] = [
    '',
    ' ',
    '{',
    `{"${canary}":`,
    `{"${canary}":${canary}}`,
    `{'${canary}':1}`,
    `{"worker":"mailer"}${canary}`,
    `{"worker":"mailer",}`,
    'NaN',
    '{"worker":undefined}',
    '"\u0001"',
    Buffer.from([0x22, 0xff, 0x22]),
    Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]),
    Buffer.from([0xef, 0xbb, 0xbf, 0x7b, 0x7d]),
    Buffer.from('{"worker":"mailer"}', 'utf16le'),
  ];
  for (const text of texts) {
    const answer = await rest.at('POST', 'tasks', text);
    t.equal(answer.json.code, 'invalid_json', String(text));
    t.notMatch(answer.body, canary);
  }
  for (const text of ['null', '5', '"x"', '[]', 'true', '[{"worker":"mailer"}]']) {
    t.equal(await told(rest, 'POST', 'tasks', text), 'validation_failed', text);
  }
});

test('strange characters in texts come back as they were, or are refused', async (rest, t) => {
  const strange = ['\u0000', '\ud800', '\udfff', '\u2028', '\ufeff', '😀', '\u007f', '"\\', '</script>'];
  for (const text of strange) {
    const name = [...text].map(character => character.codePointAt(0)!.toString(16)).join(' ');
    const body = { worker: 'mailer', payload: { [text]: text }, tags: [text], metadata: { [text]: text } };
    const { id } = await rest.made('tasks', body);
    const read = await rest.read(`tasks/${id}`);
    t.same([read.payload, read.tags, read.metadata], [body.payload, body.tags, body.metadata], name);
    t.equal(await told(rest, 'POST', 'tasks', { worker: text }), 'validation_failed', name);
    t.equal(await told(rest, 'POST', 'tasks', { worker: 'mailer', key: text }), 'validation_failed', name);
  }
  for (const text of ['\u0000', '\ud800', '\n', 'é', ' x']) {
    const name = JSON.stringify(text);
    t.equal(await told(rest, 'POST', 'tasks', { worker: 'mailer', type: text }), 'validation_failed', name);
  }
  for (const fields of [
    { email: 'a\u0000b@x.test' },
    { email: '\ud800@x.test' },
    { email: 'a@x.test', external_id: '\u0000' },
    { email: 'a@x.test', external_id: 'x\udfff' },
  ]) {
    t.equal(await told(rest, 'POST', 'users', fields), 'validation_failed', JSON.stringify(fields));
  }
  t.equal(await told(rest, 'POST', 'users', { email: 'jürgen😀@x.test', external_id: '😀' }), 201);
});

test('names that mean something to JavaScript mean nothing here', async (rest, t) => {
  const refused = [
    taskText('"__proto__":{"run_at":"x"}'),
    taskText('"constructor":{"prototype":{}}'),
    taskText('"retry":{"__proto__":{"max_attempts":5}}'),
    taskText('"toString":"x"'),
  ];
  for (const text of refused) t.equal(await told(rest, 'POST', 'tasks', text), 'unknown_field', text);
  t.equal(await told(rest, 'POST', 'tasks', '{"__proto__":{"worker":"mailer"}}'), 'unknown_field');
  const record = '{"__proto__":"x","constructor":"y","hasOwnProperty":"z"}';
  const text = taskText(`"metadata":${record},"headers":${record},"payload":{"__proto__":{"a":1}}`);
  const made = await rest.at('POST', 'tasks', text);
  t.equal(made.status, 201);
  for (const { body } of [made, await rest.at('GET', `tasks/${made.json.id}`)]) {
    t.match(body, `"metadata":${record}`);
    t.match(body, '"payload":{"__proto__":{"a":1}}');
    for (const part of ['"__proto__":"x"', '"constructor":"y"', '"hasownproperty":"z"']) t.match(body, part);
  }
  t.equal(({} as { a?: number }).a, undefined);
  for (const name of ['__proto__', 'constructor', 'toString']) {
    t.equal(await told(rest, 'GET', `workers/${name}`), 'not_found');
    t.equal(await told(rest, 'GET', `tasks/${name}`), 'not_found');
    t.equal(await told(rest, 'GET', `tasks?${name}=x`), 'invalid_parameter');
    t.equal(await told(rest, 'POST', 'tasks', { worker: name }), 'validation_failed');
  }
});

test('headers for workers cannot break out, belong to the connection, or be there twice', async (rest, t) => {
  const headers: object[] = [
    { a: 'x\r\nb: y' },
    { a: 'x\ny' },
    { a: '\u0000' },
    { a: '€' },
    { 'a\r\nb': 'x' },
    { 'a b': 'x' },
    { 'a:': 'x' },
    { '': 'x' },
    { é: 'x' },
    { A: '1', a: '2' },
    { ['x'.repeat(129)]: 'x' },
    { a: 5 },
    { a: null },
    { a: ['x'] },
    ...[
      'Host',
      'content-length',
      'Connection',
      'Transfer-Encoding',
      'keep-alive',
      'Upgrade',
      'TE',
      'Trailer',
      'Expect',
      'proxy-connection',
      'Webhook-Id',
      'webhook-signature',
      'webhook-',
      'Task-Attempt',
      'task-x',
    ].map(name => ({ [name]: 'x' })),
  ];
  for (const one of headers) {
    const name = JSON.stringify(one).slice(0, 60);
    t.equal(await told(rest, 'POST', 'tasks', { worker: 'mailer', headers: one }), 'validation_failed', name);
    const worker = { name: 'new', url: 'https://example.com/', headers: one };
    t.equal(await told(rest, 'POST', 'workers', worker), 'validation_failed', name);
  }
});

test('queries are read strictly', async (rest, t) => {
  const cases: Readonly<Record<string, readonly string[]>> = {
    invalid_parameter: [
      ...['%', '%ff', '%zz=1', 'worker=%', 'worker=%ff', 'worker=%C0%80', '=', '=x', 'tz=UTC', 'Worker=x'],
      ...['worker=a&worker=b', 'worker=a&work%65r=b', `${'w'.repeat(10_000)}=1`, 'x=1&'.repeat(1_000)],
      ...['limit=0', 'limit=201', 'limit=-1', 'limit=1e1', 'limit=1.0', 'limit=%2B1', 'limit=٣', 'limit='],
      ...[
        'order=ASC',
        'order=',
        'order=asc,desc',
        'include=result',
        'include=payload,payload',
        'by=x',
        'by=run_at',
      ],
    ],
    invalid_status: ['status=,', 'status=retry,', 'status=RETRY', 'status=retry%20', 'status=queued'],
    invalid_time_range: [
      ...['start=2026-02-30', 'start=26', 'start=now', 'end=99999999999999999999', 'start=-1e9h', 'end=1e9'],
      ...['start=2026-13', 'end=2026-01-01T25:00:00Z', 'start=2026&end=2025', 'start=-9999999999999d'],
    ],
    invalid_cursor: ['cursor=', 'cursor=null', 'cursor=%00'],
    validation_failed: ['worker=%00', `worker=${'x'.repeat(4_000)}`],
  };
  for (const [code, queries] of Object.entries(cases)) {
    for (const query of queries) t.equal(await told(rest, 'GET', `tasks?${query}`), code, query.slice(0, 60));
  }
  for (const query of ['', '&&&', 'worker', 'worker=', 'status=', 'key=%25', 'error=%00', 'tag=%22', 'by=']) {
    t.equal(await told(rest, 'GET', `tasks?${query}`), 200, query.slice(0, 60));
  }
});

test('paths are compared as they are', async (rest, t) => {
  const { id } = await rest.task();
  const missing = [
    ...['tasks/', 'tasks//history', `tasks/${id}/`, `tasks/${id}//history`, 'Tasks', 'tasks;a=b', 'tasks%2F'],
    ...['tasks/%', 'tasks/%ff', 'tasks/%00', 'tasks/..', 'tasks/%2e%2e', `tasks/${id.toLowerCase()}`],
    ...[`tasks/${'a'.repeat(10_000)}`, `tasks/${'%41'.repeat(5_000)}`, '/'.repeat(5_000), `tasks/${id}%0a`],
    ...['workers/MAILER', 'workers/mailer%20', 'workers/wrk_mailer', `workers/${'w'.repeat(64)}`, ''],
  ];
  for (const path of missing) t.equal(await told(rest, 'GET', path), 'not_found', path.slice(0, 60));
  t.equal(await told(rest, 'GET', 'workers/%6dailer'), 200);
});

test('for an unsupported method, the response lists the methods of the path', async (rest, t) => {
  for (const route of rest.routes) {
    const target = route.path.slice('/v1/'.length).replaceAll(/:\w+/g, 'x');
    for (const method of ['OPTIONS', 'TRACE', 'CONNECT', 'PROPFIND', 'get', '']) {
      const answer = await rest.at(method, target);
      t.match(answer, problem('method_not_allowed'), `${method} ${target}`);
      const allowed = answer.headers['Allow'].split(', ');
      t.ok(allowed.includes(route.method), `${target}: ${allowed}`);
      t.equal(allowed.includes('HEAD'), allowed.includes('GET'));
    }
  }
  t.equal(await told(rest, 'HEAD', 'tasks'), 200);
  t.equal(await told(rest, 'HEAD', 'tasks/tsk_x'), 'not_found');
  for (const [target, allow, others] of [
    ['tasks/batch', 'POST', ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE']],
    ['tasks/actions', 'POST', ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE']],
    ['tasks/counts', 'GET, HEAD', ['POST', 'PUT', 'PATCH', 'DELETE']],
    ['leases/settle', 'POST', ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE']],
  ] as const) {
    for (const method of others) {
      const { status, headers } = await rest.at(method, target);
      t.match({ status, allow: headers['Allow'] }, { status: 405, allow }, `${method} ${target}`);
    }
  }
});

test('header fields of requests are read strictly', async (rest, t) => {
  const { id } = await rest.task();
  const run = (headers: object) => told(rest, 'POST', `tasks/${id}/run`, '{}', { headers });
  const faulty = [
    '',
    ',',
    ' ',
    '1',
    '"1',
    '1"',
    '"1""2"',
    '"1" "2"',
    '"1";"2"',
    '*, "1"',
    'w/"1"',
    'W/ "1"',
    '"1 "',
  ];
  for (const value of faulty) t.equal(await run({ 'if-match': value }), 'invalid_parameter', value);
  const others = [
    '"2"',
    'W/"1"',
    '"x"',
    '""',
    '"99999999999999999"',
    '"-1"',
    '"01"',
    '"1,"',
    '"2", W/"1", "ü", "*"',
  ];
  for (const value of others) t.equal(await run({ 'if-match': value }), 'version_mismatch', value);
  for (const value of ['"1"', '"7","1"', ' "7" ,, "1",', 'W/"7", "1"', '*']) {
    const task = await rest.task();
    t.equal(
      await told(rest, 'POST', `tasks/${task.id}/run`, '{}', { headers: { 'if-match': value } }),
      200,
      value,
    );
    t.equal(
      await told(rest, 'DELETE', `tasks/${task.id}`, undefined, { headers: { 'if-match': value } }),
      value === '*' ? 204 : 'version_mismatch',
    );
  }
  t.equal(
    await told(rest, 'DELETE', `tasks/tsk_${'7'.repeat(26)}`, undefined, {
      headers: { 'if-match': '"1", "2"' },
    }),
    'not_found',
  );
  for (const accept of ['text/html', 'application/json;q=0', '*/*;q=0.0', ',', 'application/jsonx']) {
    t.equal(await run({ accept }), 'not_acceptable', accept);
  }
  for (const accept of ['', '*/*', 'text/html, application/*;q=0.1', 'APPLICATION/JSON; charset=utf-8']) {
    t.equal(await run({ accept }), 200, accept);
  }
  for (const type of ['text/json', 'application/json;charset=latin1', 'multipart/form-data', '', 'json']) {
    t.equal(await run({ 'content-type': type }), 'unsupported_media_type', type);
  }
  for (const type of ['application/json', 'Application/JSON; Charset="UTF-8"', 'application/json;v=1']) {
    t.equal(await run({ 'content-type': type }), 200, type);
  }
  for (const requestId of ['a b', 'é', 'x'.repeat(129), '', 'a\r\nb', '"', '<script>']) {
    const answer = await rest.at('GET', 'limits', undefined, { headers: { 'x-request-id': requestId } });
    t.match(answer.headers['X-Request-Id'], /^req_/, JSON.stringify(requestId));
  }
});

test('nothing of all this is an error of the service', async (rest, t) => {
  const random = [0, 1, 2, 31, 127, 128, 255];
  for (const byte of random) {
    const bytes = Buffer.alloc(100, byte);
    for (const route of rest.routes.filter(({ method }) => method !== 'GET')) {
      const target = route.path
        .slice('/v1/'.length)
        .replaceAll(/:\w+/g, encodeURIComponent(bytes.toString()));
      const answer = await rest.at(route.method, target, bytes);
      t.ok(answer.status < 500, `${route.operation} ${byte}`);
    }
  }
  const errors = rest.logger.lines.filter(({ level }) => level === 'error' || level === 'warning');
  t.same(errors, []);
});
