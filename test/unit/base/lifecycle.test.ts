import t from 'tap';
import { type Service, ServiceStack } from '../../../src/base/lifecycle.ts';

function recording(name: string, steps: string[], failing: 'start' | 'stop' | 'never' = 'never'): Service {
  const step = (what: 'start' | 'stop') => async (): Promise<void> => {
    steps.push(`${what} ${name}`);
    if (failing === what) throw new Error(`${name} cannot ${what}`);
  };
  return { name, start: step('start'), stop: step('stop') };
}

t.test('services stop in reverse, and a second stop does nothing', async t => {
  const steps: string[] = [];
  const stack = new ServiceStack();
  await stack.start(recording('a', steps));
  await stack.start(recording('b', steps));
  await stack.stop();
  await stack.stop();
  t.same(steps, ['start a', 'start b', 'stop b', 'stop a']);
});

t.test('when one fails to start, all are stopped, and the failure is passed on', async t => {
  const steps: string[] = [];
  const stack = new ServiceStack();
  await stack.start(recording('a', steps));
  await t.rejects(stack.start(recording('b', steps, 'start')), { message: 'b cannot start' });
  t.same(steps, ['start a', 'start b', 'stop b', 'stop a']);
});

t.test('one that fails to stop does not keep the others from being stopped', async t => {
  const steps: string[] = [];
  const stack = new ServiceStack();
  await stack.start(recording('a', steps));
  await stack.start(recording('b', steps, 'stop'));
  await t.rejects(stack.stop(), { message: 'some services did not stop cleanly' });
  t.same(steps.slice(2), ['stop b', 'stop a']);
});

/** A service whose start ends when it is told to; `end` says how, `stop` ends it as a failure where it can. */
function slow(name: string, steps: string[], stopEndsStart: boolean) {
  const started = Promise.withResolvers<void>();
  const service: Service = {
    name,
    start: () => {
      steps.push(`start ${name}`);
      return started.promise;
    },
    stop: async () => {
      steps.push(`stop ${name}`);
      if (stopEndsStart) started.reject(new Error('given up'));
    },
  };
  const open = (): void => {
    steps.push(`${name} is open`);
    started.resolve();
  };
  return { service, open };
}

t.test('resources that a start opens after stop was called are closed before stop resolves', async t => {
  const steps: string[] = [];
  const stack = new ServiceStack();
  await stack.start(recording('a', steps));
  const { service, open } = slow('b', steps, false);
  const starting = stack.start(service);
  const refused = t.rejects(starting, { message: 'b was stopped while it started' });
  const stopped = stack.stop().then(() => steps.push('stopped'));
  await new Promise(resolve => setImmediate(resolve));
  open();
  await Promise.all([refused, stopped]);
  t.same(steps, ['start a', 'start b', 'stop b', 'b is open', 'stop b', 'stop a', 'stopped']);
});

t.test('a start that waits is ended by the stop, and its failure is passed on', async t => {
  const steps: string[] = [];
  const stack = new ServiceStack();
  const starting = stack.start(slow('a', steps, true).service);
  const refused = t.rejects(starting, { message: 'given up' });
  await stack.stop();
  await refused;
  t.same(steps, ['start a', 'stop a', 'stop a']);
});

t.test('nothing is started after stop', async t => {
  const steps: string[] = [];
  const stack = new ServiceStack();
  const stopping = stack.stop();
  await t.rejects(stack.start(recording('a', steps)), { message: 'cannot start a during shutdown' });
  await stopping;
  await t.rejects(stack.start(recording('a', steps)), { message: 'cannot start a during shutdown' });
  t.same(steps, []);
});

t.test('everyone who stops waits for the same end', async t => {
  const steps: string[] = [];
  const stack = new ServiceStack();
  await stack.start(recording('a', steps, 'stop'));
  const [first, second] = await Promise.allSettled([stack.stop(), stack.stop()]);
  t.same([first.status, second.status], ['rejected', 'rejected']);
  t.same(steps, ['start a', 'stop a']);
});

t.test('the reason of a failed start is reported even if another service fails to stop', async t => {
  const stack = new ServiceStack();
  await stack.start(recording('a', [], 'stop'));
  await t.rejects(stack.start(recording('b', [], 'start')), { message: 'b cannot start' });
});
