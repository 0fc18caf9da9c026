import type { Test } from 'tap';
import t from 'tap';
import type { RestCalls } from '../../../../src/tasks/rest/http/http.ts';
import type { HttpEngine } from '../../../../src/transports/http/listener.ts';
import { HTTP_ENGINE, HTTP_ENGINES } from '../../../support/http-engine.ts';
import { relayed } from '../../../support/tasks/relayed.ts';

let current = HTTP_ENGINE;
let isRelayed = false;

/** The engine of the test that is running: tests of a file run one after the other. */
export function httpEngine(): HttpEngine {
  return current;
}

/** The same test once with each engine. */
export function onEachEngine(behaviour: string, test: (t: Test) => void | Promise<void>): void {
  for (const engine of Object.values(HTTP_ENGINES)) {
    t.test(`${engine.name}: ${behaviour}`, async t => {
      current = engine;
      await test(t);
    });
  }
}

/**
 * The same test once with each front of tasks: the engine that can serve them, and calls that a serving thread relays to
 * the primary thread.
 */
export function onEachFront(behaviour: string, test: (t: Test) => void | Promise<void>): void {
  for (const front of ['direct', 'relayed']) {
    t.test(`${front}: ${behaviour}`, async t => {
      current = HTTP_ENGINES.node;
      isRelayed = front === 'relayed';
      t.teardown(() => {
        isRelayed = false;
      });
      await test(t);
    });
  }
}

/** The calls of the test that is running, as its front sees them. */
export function frontCalls(t: Test, calls: RestCalls): RestCalls {
  return isRelayed ? relayed(t, calls).calls : calls;
}
