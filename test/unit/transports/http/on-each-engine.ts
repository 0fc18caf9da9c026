import type { Test } from 'tap';
import t from 'tap';
import type { HttpEngine } from '../../../../src/transports/http/listener.ts';
import { HTTP_ENGINE, HTTP_ENGINES } from '../../../support/http-engine.ts';

let current = HTTP_ENGINE;

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
