import t from 'tap';
import { hang } from '../../../support/threads/deaths.ts';
import { startedThreads } from '../../../support/threads/started-threads.ts';
import { PER_DAY, startThreaded } from '../../../support/threads/threaded-decisions.ts';

const workers = startedThreads(t);

/** Batches that one thread takes at once. */
const BATCHES_OF_THREAD = 2;

t.test('a decision thread that runs an endless loop is terminated and replaced', async t => {
  const service = await startThreaded(t);
  const stuck = workers.at(-1)!;
  const gone = new Promise(resolve => stuck.once('exit', resolve));
  await hang(stuck);
  const answers = await service.askBursts(40, 1, () => 'a=x');
  await gone;
  t.same(
    answers.filter(answer => typeof answer === 'string'),
    Array.from({ length: BATCHES_OF_THREAD }, () => 'internal'),
    'its two batches are errors, and no other',
  );
  const remaining = answers.filter(answer => typeof answer === 'number');
  t.equal(new Set(remaining).size, remaining.length, 'nothing was counted twice');
  t.equal(PER_DAY - Number(await service.askHere('a=x')), remaining.length + 1);
  t.equal(service.answeredAgain, 0);
  await service.threads.whenReady(2);
  t.equal(service.counter('ratelimit.service.worker_threads_lost'), 1);
  t.match(
    service.logger.lines.filter(
      ({ message }) => message === 'Decision thread is not responding; replacing it',
    ),
    [{ level: 'error', fields: { batches: 2 } }],
  );
  t.ok((await service.askBursts(10, 20, () => 'a=y')).every(answer => typeof answer === 'number'));
});
