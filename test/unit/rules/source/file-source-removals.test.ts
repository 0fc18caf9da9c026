import { renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import t from 'tap';
import type { Timer } from '../../../../src/base/clock.ts';
import { RECHECK_MS } from '../../../../src/rules/source/file-source.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { startSource } from './started-source.ts';

/** Tells when somebody begins to wait. */
class TellingClock extends ManualClock {
  #told: () => void = () => {};

  override after(delayMs: number, run: () => void): Timer {
    const timer = super.after(delayMs, run);
    this.#told();
    return timer;
  }

  /** Resolves when the next timer is set. */
  waitedOn(): Promise<void> {
    return new Promise(resolve => {
      this.#told = resolve;
    });
  }
}

async function twoFiles(t: Test) {
  const root = t.testdir({ config: { 'a.yaml': 'a', 'b.yaml': 'b' } });
  const clock = new TellingClock(0);
  const started = await startSource(t, { root, watchRoot: false, clock });
  const config = join(root, 'config');
  return { ...started, clock, config, a: join(config, 'a.yaml'), b: join(config, 'b.yaml') };
}

t.test('a file that is moved away and written again is never missing', async t => {
  const { clock, loader, a } = await twoFiles(t);
  const waitedOn = clock.waitedOn();
  renameSync(a, `${a}~`);
  await waitedOn;
  writeFileSync(a, 'new');
  clock.advance(RECHECK_MS);
  t.strictSame(await loader.next(), { loaded: 'new b' });
});

t.test('a file that is emptied before it is filled is never empty', async t => {
  const { clock, loader, a } = await twoFiles(t);
  const waitedOn = clock.waitedOn();
  truncateSync(a);
  await waitedOn;
  writeFileSync(a, 'new');
  clock.advance(RECHECK_MS);
  t.strictSame(await loader.next(), { loaded: 'new b' });
});

t.test('a file that stays away counts as removed after a while', async t => {
  const { clock, loader, a } = await twoFiles(t);
  const waitedOn = clock.waitedOn();
  rmSync(a);
  await waitedOn;
  t.strictSame(clock.pendingDelaysMs, [RECHECK_MS]);
  t.equal(loader.heard.length, 1, 'not yet');
  clock.advance(RECHECK_MS);
  t.strictSame(await loader.next(), { loaded: 'b' });
});

t.test('of a directory that is removed file by file no smaller set is handed on', async t => {
  const { clock, loader, config, a, b } = await twoFiles(t);
  let waitedOn = clock.waitedOn();
  rmSync(a);
  await waitedOn;
  rmSync(b);
  waitedOn = clock.waitedOn();
  clock.advance(RECHECK_MS);
  await waitedOn;
  rmSync(config, { recursive: true });
  clock.advance(RECHECK_MS);
  t.match(await loader.next(), { failed: /does not exist/ });
});

t.test('a stop ends the wait', async t => {
  const { source, clock, loader, a } = await twoFiles(t);
  const waitedOn = clock.waitedOn();
  rmSync(a);
  const reloaded = source.reload();
  await waitedOn;
  await Promise.all([source.stop(), reloaded]);
  t.equal(clock.pending, 0);
  t.equal(loader.heard.length, 1);
});
