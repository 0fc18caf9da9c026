import { EventEmitter } from 'node:events';
import t from 'tap';
import { processSupervisor, type Supervised } from '../../../../src/cli/terminal/io.ts';

/** A process with an IPC channel that does as Node.js does: what cannot be sent and has no callback is an `error`. */
class ProcessWithChannel extends EventEmitter implements Supervised {
  connected = true;
  readonly sent: unknown[] = [];

  send(message: unknown, done?: (failure: Error | null) => void): boolean {
    const failure = this.connected ? null : new Error('Channel closed');
    if (failure === null) this.sent.push(message);
    else if (done === undefined) process.nextTick(() => this.emit('error', failure));
    if (done !== undefined) process.nextTick(done, failure);
    return failure === null;
  }

  disconnect(): void {
    if (!this.connected) throw new Error('IPC channel is already disconnected');
    this.connected = false;
  }
}

t.test('a process that nobody listens to has no supervisor', async t => {
  t.equal(
    processSupervisor({ connected: false, disconnect: () => t.fail('there is no channel') }),
    undefined,
  );
});

t.test('the supervisor is notified when the ports are open, and disconnected once', async t => {
  const supervised = new ProcessWithChannel();
  const supervisor = processSupervisor(supervised);
  supervisor?.ready();
  t.same(supervised.sent, ['ready']);
  supervisor?.leave();
  supervisor?.leave();
  t.equal(supervised.connected, false);
});

t.test('a supervisor that ends during the start does not end the process', async t => {
  const supervised = new ProcessWithChannel();
  const supervisor = processSupervisor(supervised);
  supervised.on('error', () => t.fail('nobody would catch it'));
  supervised.disconnect();
  supervisor?.ready();
  await new Promise(resolve => setImmediate(resolve));
  supervisor?.leave();
  t.same(supervised.sent, []);
});
