import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { Test } from 'tap';
import t from 'tap';
import { KeptEngine } from '../../../../src/app/tasks/kept-engine.ts';
import { type Clock, systemClock } from '../../../../src/base/clock.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import { ThreadsStats } from '../../../../src/stats/thread-stats.ts';
import { SignalMesh } from '../../../../src/tasks/model/signals.ts';
import { ThreadLinks } from '../../../../src/tasks/rest/threads/thread-links.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import type { FakeEngineSetup } from '../../../support/tasks/engine-thread.ts';
import { NO_LIMITS } from '../../../support/tasks/no-limits.ts';
import { until } from '../../../support/until.ts';
import { WaitClock } from '../../../support/wait-clock.ts';

const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
const FAKE = new URL(`../../../support/tasks/engine-thread.${extension}`, import.meta.url);

function open(t: Test, engines: FakeEngineSetup['engines'], clock: Clock = systemClock) {
  const logger = new KeepingLogger();
  const stats = new StatsRegistry();
  const signals = new SignalMesh();
  /** Ports of a REST thread to the engine threads. */
  const ports: MessagePort[] = [];
  signals.join(port => ports.push(port));
  const setup: FakeEngineSetup = { begun: new Int32Array(new SharedArrayBuffer(4)), engines };
  let lost = 0;
  const links = new ThreadLinks({
    signals,
    store: {
      addClient: client => {
        client.connect(new MessageChannel().port1);
        return () => {};
      },
      wanted: () => {},
    },
    limitAsker: NO_LIMITS,
  });
  const creation = {
    module: FAKE,
    workerData: () => setup,
    lost: () => lost++,
    clock,
    random: () => 0,
    logger,
  };
  const engine = new KeptEngine(creation, links, new ThreadsStats(stats));
  t.teardown(async () => {
    await engine.stop();
    for (const port of ports) port.close();
  });
  const told = (): string[] =>
    logger.lines.filter(({ level }) => level === 'info').map(({ message }) => message);
  const errors = () => logger.lines.filter(({ level }) => level === 'error');
  return { engine, stats, told, errors, lost: () => lost, kill: () => ports.at(-1)?.postMessage('end') };
}

t.test('the engine begins once it has its ways to the store and to other threads', async t => {
  const { engine, told, stats } = open(t, ['runs']);
  t.notOk(engine.running);
  await engine.start();
  t.ok(engine.running);
  t.same(told(), ['1: signals', '1: store', '1: begin']);
  await until(() => stats.gauges().get('tasks.due') === 3);
  t.same([...stats.counters()], [['tasks.done', 1]]);
});

t.test('an engine that cannot be started ends the start', async t => {
  const { engine } = open(t, ['fails']);
  await t.rejects(engine.start(), { message: 'no engine' });
  t.notOk(engine.running);
});

t.test('a thread that dies is replaced, and what it has reported goes with it', async t => {
  const { engine, told, errors, lost, stats, kill } = open(t, ['runs']);
  await engine.start();
  t.match(engine.notReady('task_store'), { cause: 'disk_full' });
  kill();
  await until(() => !engine.running);
  t.not(stats.gauges().get('tasks.due'), 3);
  await until(() => engine.running);
  t.equal(engine.notReady('task_store'), null);
  t.same(told().slice(3), ['2: signals', '2: store', '2: begin']);
  t.match(errors(), [
    {
      message: 'Task engine thread ended; starting a replacement',
      fields: { effect: /pushes in progress are retried/ },
    },
  ]);
  t.equal(lost(), 1);
});

t.test('an engine that does not begin again is tried again after a while', async t => {
  const clock = new WaitClock(0);
  const { engine, told, errors, kill } = open(t, ['runs', 'fails', 'runs'], clock);
  await engine.start();
  kill();
  await clock.pass(100);
  await until(() => engine.running);
  t.equal(told().at(-1), '3: begin');
  t.match(errors(), [{}, { fields: { reason: /no engine/ } }]);
});

t.test('a thread that hangs is terminated after eleven seconds, and replaced', async t => {
  const clock = new WaitClock(0);
  const { engine, errors } = open(t, ['loops', 'runs'], clock);
  await engine.start();
  for (let second = 1; second <= 11; second++) await clock.pass(1_000);
  await until(() => engine.running);
  t.match(errors(), [{ message: 'Task engine thread is not responding; replacing it' }]);
});

t.test('tests of workers are made in the thread, and fail when it ends', async t => {
  const { engine, kill } = open(t, ['runs']);
  const test = { tenant: 'acme', workerId: 'wrk_1', id: 'tsk_1', url: null, payload: null };
  t.match(await engine.test(test), { kind: 'refused', reason: 'busy' }, 'not before the start');
  await engine.start();
  t.same(await engine.test(test), { kind: 'impossible', reason: 'gone' });
  const unheard = engine.test({ ...test, workerId: 'silent' });
  kill();
  await t.rejects(unheard, { message: /has ended\. Retry the request/ });
});

t.test('a stop waits for the drain, and a drain is asked for once', async t => {
  const { engine, told, errors } = open(t, ['runs']);
  await engine.start();
  engine.drain();
  await engine.stop();
  t.same(told().slice(3), ['1: drain', '1: stop']);
  t.same(errors(), []);
});

t.test('a thread that dies during the drain ends the drain, and the next one begins nothing', async t => {
  const { engine, told } = open(t, ['exits on drain', 'runs']);
  await engine.start();
  await engine.stop();
  t.notOk(told().includes('2: begin'));
});

t.test('an engine that has not been started stops, and one that starts ends its start', async t => {
  const { engine } = open(t, ['runs']);
  await engine.stop();
  const other = open(t, ['runs']).engine;
  const started = other.start();
  await Promise.all([t.rejects(started), other.stop()]);
});
