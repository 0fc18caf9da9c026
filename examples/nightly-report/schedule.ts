import { SluiceClient, SluiceProblem } from '../../clients/typescript/src/index.ts';

const NAME = 'nightly-report';
const TIMES = {
  cron: '30 2 * * *',
  timezone: 'Europe/Berlin',
  dst: { gap: 'run_after', overlap: 'once' },
} as const;

const client = SluiceClient.fromEnvironment();
const schedule = {
  ...TIMES,
  // After a night without a running service, the report of the last night is made, and no older ones.
  catch_up: { mode: 'latest', window: '12h' },
  task: { type: 'report' },
} as const;
try {
  await client.post('/v1/schedules', { body: { name: NAME, worker: 'reports', ...schedule } });
} catch (failure) {
  if (!(failure instanceof SluiceProblem && failure.code === 'name_taken')) throw failure;
  await client.put('/v1/schedules/{id}', { params: { id: NAME }, body: schedule });
}

const year = new Date().getUTCFullYear() + 1;
for (const month of ['03', '10']) {
  // The clocks change on the last Sunday of the month.
  const from = `${year}-${month}-24T12:00:00Z`;
  const { times } = await client.post('/v1/schedules/preview', { body: { ...TIMES, from, count: 8 } });
  for (const { at, local, note } of times) {
    if (note !== null) console.log(`${local} (${at}): ${note}`);
  }
}
