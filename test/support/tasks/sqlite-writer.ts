// Creates tasks in the file that it is given, from several callers at once, and writes the id of each that was
// acknowledged to standard output, until it is killed.
import { writeSync } from 'node:fs';
import { systemClock } from '../../../src/base/clock.ts';
import { threadedSqliteStore } from '../../../src/tasks/store/sqlite/engine/thread-operator.ts';
import { KeepingLogger } from '../keeping-logger.ts';
import { Factory } from './factories.ts';

const CALLERS = 8;
const BODY = { payload: JSON.stringify('x'.repeat(500)), headers: {} };

const [path, seed] = process.argv.slice(2);
const make = new Factory(systemClock, Number(seed));
const worker = make.worker();
const { store } = threadedSqliteStore({ path }, new KeepingLogger());
await store.start();
await store.apply('acme', [{ ...worker, unique: [] }]);

async function createForEver(): Promise<never> {
  for (;;) {
    const item = make.newTask(worker, { key: make.id('task') }, { body: BODY });
    await store.create('acme', make.createRequest([item]));
    writeSync(1, `${item.task.id}\n`);
  }
}
await Promise.all(Array.from({ length: CALLERS }, createForEver));
