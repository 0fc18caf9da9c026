import t from 'tap';
import { traceOf } from '../../../../../src/tasks/model/task-headers.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const withMailer = testsOf(TaskHarness.withMailer);

const TRACE = {
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: 'vendor=abc',
};
const OTHER = { traceparent: '00-1af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-00', tracestate: '' };

async function kept(rest: TaskHarness, id: string) {
  return traceOf((await rest.store.getWhole('acme', id))!.body.headers);
}

withMailer('a task keeps the trace context of its call unseen', async ({ rest }, t) => {
  const { id } = await rest.task({ headers: { x: 'y' } }, { headers: TRACE });
  t.same(await kept(rest, id), TRACE);
  t.same((await rest.read(`tasks/${id}`)).headers, { x: 'y' });
  t.same((await rest.read('tasks?include=payload')).data[0].headers, { x: 'y' });

  await rest.at('PUT', `tasks/${id}`, { headers: { z: '1' } }, { headers: OTHER });
  t.same(await kept(rest, id), TRACE, 'a change leaves it in place');
  const batch = { tasks: [{ worker: 'mailer' }, { worker: 'mailer' }] };
  const { json } = await rest.at('POST', 'tasks/batch', batch, { headers: TRACE });
  for (const { task } of json.results) t.same(await kept(rest, task.id), TRACE);
});

withMailer('an invalid context is ignored, and a task may have one of its own', async ({ rest }, t) => {
  const invalid = { traceparent: '00-0-0-01', tracestate: 'a=1' };
  t.equal(await kept(rest, (await rest.task({}, { headers: invalid })).id), null);
  const long = { ...TRACE, tracestate: 'x'.repeat(1_000) };
  t.same(await kept(rest, (await rest.task({}, { headers: long })).id), { ...TRACE, tracestate: '' });
  t.equal(await kept(rest, (await rest.task()).id), null);
  const own = { headers: { traceparent: OTHER.traceparent, tracestate: 'not one' } };
  t.same(await kept(rest, (await rest.task(own, { headers: TRACE })).id), OTHER);
});

withMailer('a triggered schedule has the context of the trigger', async ({ rest }, t) => {
  const schedule = await rest.made('schedules', {
    name: 'nightly',
    worker: 'mailer',
    cron: '0 3 * * *',
    task: { headers: { x: 'y' } },
  });
  const task = await rest.made(`schedules/${schedule.id}/trigger`, undefined, { headers: TRACE });
  t.same(await kept(rest, task.id), TRACE);
});

t.test('a pull worker gets the context with the lease', async t => {
  const rest = await TaskHarness.open();
  await rest.pullWorker();
  await rest.task({ worker: 'crawler' }, { headers: TRACE });
  await rest.task({ worker: 'crawler' }, { headers: OTHER });
  await rest.task({ worker: 'crawler' });
  const { json } = await rest.at('POST', 'workers/crawler/leases', { max: 3 }, { headers: TRACE });
  t.match(json.leases, [
    { ...TRACE, task: { headers: {} } },
    { traceparent: OTHER.traceparent, tracestate: null },
    { traceparent: null, tracestate: null },
  ]);
});
