import t from 'tap';
import { SignalBridge } from '../../../../src/tasks/model/signal-bridge.ts';
import { Signals } from '../../../../src/tasks/model/signals.ts';

const NAMES = ['taskDue', 'documentsChanged'] as const;

/** Signals that write down what they tell. */
function listening(): { signals: Signals; told: string[] } {
  const signals = new Signals();
  const told: string[] = [];
  signals.listen({
    taskDue: (...details) => told.push(`taskDue ${details.join(' ')}`),
    documentsChanged: tenant => told.push(`documentsChanged ${tenant}`),
  });
  return { signals, told };
}

t.test('each side is told once of what the other one tells, and a third one too', async t => {
  const [hub, one, two] = [listening(), listening(), listening()];
  const ends: SignalBridge[] = [];
  for (const side of [one, two]) {
    const near: SignalBridge = new SignalBridge(hub.signals, NAMES, signal =>
      far.heard(structuredClone([signal])),
    );
    const far: SignalBridge = new SignalBridge(side.signals, NAMES, signal =>
      near.heard(structuredClone([signal])),
    );
    ends.push(near, far);
  }
  one.signals.tell('taskDue', 'acme', 'wrk_1', 5);
  hub.signals.tell('documentsChanged', 'acme');
  one.signals.tell('roomFor', 'acme', 'nobody listens to it there');
  for (const { told } of [hub, one, two]) t.same(told, ['taskDue acme wrk_1 5', 'documentsChanged acme']);
  for (const end of ends) end.close();
  hub.signals.tell('documentsChanged', 'globex');
  t.equal(one.told.length, 2);
});
