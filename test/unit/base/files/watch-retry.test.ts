import t from 'tap';
import { WatchRetry } from '../../../../src/base/files/directory-watch.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { refusal } from '../../../support/watched-places.ts';

function makeRetry() {
  const logger = new KeepingLogger();
  const clock = new ManualClock(0);
  let tried = 0;
  const again = (): void => {
    tried++;
  };
  return { retry: new WatchRetry({ logger, clock, again }), logger, clock, tried: () => tried };
}

t.test('broken watches are logged and retried together after ten seconds', async t => {
  const { retry, logger, clock, tried } = makeRetry();
  retry.broken('/a', refusal('ENOSPC', 'no watches left'));
  retry.broken('/b', new Error('out of order'));
  const message = /may go unnoticed; retrying\. If this persists, raise fs\.inotify\.max_user_watches/;
  t.match(logger.lines, [
    {
      level: 'warning',
      message,
      fields: { path: '/a', reason: 'ENOSPC: no watches left', retryInMs: 10_000 },
    },
    { level: 'warning', message, fields: { path: '/b', reason: 'out of order', retryInMs: 10_000 } },
  ]);
  t.strictSame(clock.pendingDelaysMs, [10_000]);
  clock.advance(10_000);
  t.equal(tried(), 1);
  retry.broken('/a', new Error('again'));
  clock.advance(10_000);
  t.equal(tried(), 2, 'a later failure has a timer of its own');
});

t.test('a watch without permission is logged and not retried', async t => {
  const { retry, logger, clock } = makeRetry();
  for (const code of ['EACCES', 'EPERM']) retry.broken('/a', refusal(code, 'not allowed'));
  const message = /let the user of this process read the path$/;
  t.match(logger.lines, [
    { message, fields: { reason: /not allowed/ } },
    { message, fields: { reason: /EPERM/ } },
  ]);
  t.equal(clock.pending, 0);
});

t.test('a stop forgets the attempt that waits', async t => {
  const { retry, clock, tried } = makeRetry();
  retry.broken('/a', new Error('out of order'));
  retry.stop();
  clock.advance(60_000);
  t.equal(tried(), 0);
});
