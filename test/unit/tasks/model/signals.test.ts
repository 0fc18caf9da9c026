import t, { type Test } from 'tap';
import {
  SIGNAL_NAMES,
  SignalMesh,
  type SignalName,
  SignalPorts,
  Signals,
} from '../../../../src/tasks/model/signals.ts';
import { PullSignals } from '../../../../src/tasks/rest/threads/thread-signals.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { until } from '../../../support/until.ts';

/** A thread's end of the mesh, which writes down what it hears. */
function thread(t: Test, mesh: SignalMesh, wants: readonly SignalName[] = SIGNAL_NAMES) {
  const signals = new Signals();
  const told: string[] = [];
  const note = (name: string) => (tenant: string) => told.push(`${name} ${tenant}`);
  const ports = new SignalPorts(signals, wants);
  t.teardown(() => ports.close());
  const leave = mesh.join(port => ports.connect(port));
  signals.listen(Object.fromEntries(SIGNAL_NAMES.map(name => [name, note(name)])));
  return { signals, told, ports, leave };
}

t.test('every other thread receives each signal once, in order', async t => {
  const mesh = new SignalMesh();
  const [one, two, three] = [thread(t, mesh), thread(t, mesh), thread(t, mesh)];
  one.signals.tell('taskDue', 'acme', 'wrk_1', 5);
  one.signals.tell('roomFor', 'acme', 'wrk_1');
  await until(() => two.told.length === 2 && three.told.length === 2);
  for (const { told } of [one, two, three]) t.same(told, ['taskDue acme', 'roomFor acme']);
});

t.test('the same signal again and again is one', async t => {
  const mesh = new SignalMesh();
  const [one, two] = [thread(t, mesh), thread(t, mesh)];
  for (let i = 0; i < 3; i++) one.signals.tell('roomFor', 'acme', 'wrk_1');
  one.signals.tell('roomFor', 'acme', 'wrk_2');
  one.ports.flush();
  two.ports.receive();
  t.same(two.told, ['roomFor acme', 'roomFor acme']);
});

t.test('what was sent before a message on another way is heard before it', async t => {
  const mesh = new SignalMesh();
  const [one, two] = [thread(t, mesh), thread(t, mesh)];
  one.signals.tell('documentsChanged', 'acme');
  t.same(two.told, []);
  one.ports.flush();
  two.ports.receive();
  t.same(two.told, ['documentsChanged acme'], 'without a turn of the event loop');
});

t.test('that documents have changed is heard before a task that a third thread made with them', async t => {
  const mesh = new SignalMesh();
  const [maker, changer, reader] = [thread(t, mesh), thread(t, mesh), thread(t, mesh)];
  changer.signals.tell('documentsChanged', 'acme');
  changer.ports.flush();
  // The caller has its answer, and asks another thread for a task.
  maker.signals.tell('taskDue', 'acme', 'wrk_1', 0);
  maker.ports.flush();
  reader.ports.receive();
  t.same(reader.told, ['documentsChanged acme', 'taskDue acme']);
});

t.test('a thread gets only what it wants, and nothing else wakes it up', async t => {
  const mesh = new SignalMesh();
  const one = thread(t, mesh);
  const two = thread(t, mesh, ['documentsChanged']);
  one.signals.tell('roomFor', 'acme', 'wrk_1');
  one.signals.tell('documentsChanged', 'acme');
  one.ports.flush();
  two.ports.receive();
  t.same(two.told, ['documentsChanged acme']);
  two.ports.want(['roomFor']);
  // The wish is heard before what is told after it is sent, however soon.
  one.signals.tell('roomFor', 'globex', 'wrk_1');
  one.ports.flush();
  two.ports.receive();
  t.same(two.told, ['documentsChanged acme', 'roomFor globex']);
});

t.test('a thread that has ended receives no more signals, and its replacement does', async t => {
  const mesh = new SignalMesh();
  const one = thread(t, mesh);
  const two = thread(t, mesh);
  two.leave();
  two.ports.close();
  const next = thread(t, mesh);
  one.signals.tell('accountChanged', 'acme');
  one.ports.flush();
  next.ports.receive();
  t.same(next.told, ['accountChanged acme']);
  t.same(two.told, []);
});

t.test('signals of tasks are wanted while calls wait for them, and for a second more', async t => {
  const clock = new ManualClock(0);
  const mesh = new SignalMesh();
  const engine = thread(t, mesh);
  const rest = thread(t, mesh);
  const wants = new PullSignals(rest.ports, clock);
  const heard = (): boolean => {
    rest.told.length = 0;
    engine.signals.tell('roomFor', 'acme', 'wrk_1');
    engine.ports.flush();
    rest.ports.receive();
    return rest.told.length > 0;
  };
  t.notOk(heard());
  wants.callersChanged(true);
  t.ok(heard());
  wants.callersChanged(false);
  t.ok(heard());
  clock.advance(500);
  wants.callersChanged(true);
  wants.callersChanged(false);
  clock.advance(500);
  t.notOk(heard());
  t.equal(clock.pending, 0);
});
