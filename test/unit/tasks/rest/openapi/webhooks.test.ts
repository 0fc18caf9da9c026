import t, { type Test } from 'tap';
import { newSigningSecret } from '../../../../../src/tasks/delivery/signature.ts';
import { verdictOn } from '../../../../../src/tasks/delivery/verdict.ts';
import { DEFAULT_RETRY_POLICY } from '../../../../../src/tasks/model/retry-policy.ts';
import { bytesPayload } from '../../../../../src/tasks/model/task.ts';
import { openApiDocument } from '../../../../../src/tasks/rest/openapi/document.ts';
import { localDeliveries, pushTo, reply, startPushWorker, TASK } from '../../../../support/push-workers.ts';
import { SchemasOfDocument } from '../../../../support/tasks/schemas-of-document.ts';

// biome-ignore lint/suspicious/noExplicitAny: a document is read by its paths
const document: any = openApiDocument([], '1');
const FORMATS = { 'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/ };
const schemas = new SchemasOfDocument(document, FORMATS);
const { post } = document.webhooks.taskDelivery;

interface Parameter {
  readonly name: string;
  readonly required: boolean;
}

/** What an HTTP client writes for its connection. */
const OF_CONNECTION = ['host', 'connection', 'content-length'];

/** Pushes a task to a real server, and compares what arrives with the document. */
async function delivered(t: Test, but: Parameters<typeof pushTo>[1]): Promise<Record<string, string>> {
  const worker = await startPushWorker(t, reply(204));
  const deliveries = localDeliveries(t);
  t.match(await deliveries.deliver(pushTo(worker.url(), but)), { status: 204 });
  const [{ line, fields }] = worker.requests;
  t.match(line, /^POST /);
  const sent = Object.fromEntries(fields);
  const parameters: readonly Parameter[] = post.parameters;
  for (const [at, { name, required }] of parameters.entries()) {
    if (required) t.ok(name in sent, `${name} is always sent`);
    if (!(name in sent)) continue;
    const steps = ['webhooks', 'taskDelivery', 'post', 'parameters', at, 'schema'];
    t.equal(schemas.faultAt(steps, sent[name]), null, `${name}: ${sent[name]}`);
  }
  const described = [...OF_CONNECTION, 'content-type', ...parameters.map(({ name }) => name)];
  t.same(
    Object.keys(sent).filter(name => !described.includes(name)),
    [],
    'nothing else is sent',
  );
  return sent;
}

t.test('a delivery has the header fields that the document describes', async t => {
  const signing = [
    newSigningSecret(count => Buffer.alloc(count, 1)),
    newSigningSecret(count => Buffer.alloc(count, 2)),
  ];
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const whole = await delivered(t, { signing, trace: { traceparent, tracestate: 'a=1' }, isTest: true });
  const names = post.parameters.map(({ name }: Parameter) => name);
  t.same(
    names.filter((name: string) => !(name in whole)),
    [],
    'all of them occur',
  );
  t.equal(whole['content-type'], 'application/json');
  await delivered(t, { task: { ...TASK, type: null } });
});

t.test('a delivery has the content types that the document describes', async t => {
  t.same(Object.keys(post.requestBody.content), ['application/json', '*/*']);
  t.equal(post.requestBody.required, false);
  t.notOk('content-type' in (await delivered(t, { payload: null })));
  const bytes = bytesPayload({ contentType: 'text/csv', base64: Buffer.from('a,b').toString('base64') });
  t.equal((await delivered(t, { payload: bytes }))['content-type'], 'text/csv');
});

t.test('each answer of a receiver has the effect that the document describes', async t => {
  const worker = await startPushWorker(t, reply(200));
  const deliveries = localDeliveries(t);
  const statuses: Readonly<Record<string, readonly number[]>> = {
    '2XX': [200, 204, 299],
    default: [302, 404, 500],
  };
  for (const [key, answer] of Object.entries<Record<string, object>>(post.responses)) {
    const postpones = answer['headers'] !== undefined && 'Retry-After' in answer['headers'];
    for (const status of statuses[key] ?? [Number(key)]) {
      worker.answer = reply(status, postpones ? { 'retry-after': '30' } : {});
      const verdict = verdictOn(await deliveries.deliver(pushTo(worker.url())), {
        task: { retry: DEFAULT_RETRY_POLICY, attempt: 1, startedAt: TASK.startedAt },
        worker: { noRetryOn: [] },
        nowMs: TASK.runAt,
        random: () => 0.5,
      });
      t.equal(verdict.event, answer['x-effect'], `${status}`);
      t.equal(verdict.pauseWorker, status === 410);
    }
  }
});
