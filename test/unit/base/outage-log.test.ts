import t from 'tap';
import { Outage, OutageLog, type OutageTexts } from '../../../src/base/outage-log.ts';
import { KeepingLogger } from '../../support/keeping-logger.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const TEXTS: OutageTexts = {
  level: 'error',
  began: 'it is unavailable',
  beganAtStart: 'it is unavailable at start',
  over: 'it is available again',
  fields: { name: 'it' },
};

function setUp(texts = TEXTS) {
  const clock = new ManualClock(1_700_000_000_000);
  const logger = new KeepingLogger();
  const log = new OutageLog({ clock, logger });
  const outage = new Outage(texts, log, clock);
  return { clock, logger, log, outage, messages: () => logger.lines.map(line => line.message) };
}

t.test('an outage is a line when it begins, and one with its length and calls when it is over', async t => {
  const { clock, logger, outage } = setUp();
  outage.lost('a', 'connection reset');
  outage.lost('a', 'connection refused');
  for (let call = 0; call < 1_000; call++) {
    outage.failed('a', 'not connected');
    outage.callsFailed(2);
  }
  clock.advance(12_340);
  outage.connected('a');
  outage.succeeded('a');
  outage.connected('a');
  t.same(logger.lines, [
    {
      level: 'error',
      message: 'it is unavailable',
      fields: { name: 'it', reason: 'connection reset', unloggedOutages: undefined },
    },
    {
      level: 'error',
      message: 'it is available again',
      fields: { name: 'it', seconds: 12.3, failedCalls: 2_000 },
    },
  ]);
});

t.test('both lines have the level of the thing', async t => {
  for (const level of ['error', 'warning', 'info'] as const) {
    const { logger, outage } = setUp({ ...TEXTS, level });
    outage.lost('a', 'gone');
    outage.connected('a');
    t.same(
      logger.lines.map(line => line.level),
      [level, level],
    );
  }
});

t.test('what has not been reached since the start says so', async t => {
  const { outage, messages } = setUp();
  outage.lost('a', 'refused', true);
  outage.connected('a');
  t.same(messages(), ['it is unavailable at start', 'it is available again']);
});

t.test('an outage lasts while one of several parts is unavailable', async t => {
  const { outage, messages } = setUp();
  outage.lost('a', 'gone');
  outage.lost('b', 'gone');
  outage.connected('a');
  outage.succeeded('a');
  t.equal(messages().length, 1);
  outage.left('b');
  t.equal(messages().length, 2, 'a part that is no longer used is none');
});

t.test('where calls fail over connections that work, only a call is the end', async t => {
  const { clock, outage, messages } = setUp();
  outage.failed('a', 'READONLY');
  outage.lost('a', 'READONLY');
  outage.connected('a');
  t.equal(messages().length, 1, 'a connection is not');
  clock.advance(999);
  outage.succeeded('a');
  t.equal(messages().length, 1, 'a success among failures is not');
  clock.advance(1);
  outage.succeeded('a');
  t.equal(messages().length, 2);
});

t.test('repeated outages are logged once a minute, with the number of those left out', async t => {
  const { clock, logger, outage, messages } = setUp();
  for (let second = 0; second < 180; second++) {
    outage.lost('a', 'gone');
    clock.advance(500);
    outage.connected('a');
    clock.advance(500);
  }
  t.equal(messages().length, 6);
  t.match(logger.lines[2].fields, { unloggedOutages: 59 });
  t.equal(messages().at(-1), 'it is available again');
});

t.test('an outage soon after another one is logged if it lasts', async t => {
  const { clock, logger, outage, messages } = setUp();
  outage.lost('a', 'gone');
  outage.connected('a');
  clock.advance(5_000);
  outage.lost('a', 'gone for long');
  clock.advance(54_999);
  t.equal(messages().length, 2);
  clock.advance(1);
  t.equal(messages().length, 3);
  outage.connected('a');
  t.match(logger.lines.at(-1), { message: 'it is available again', fields: { seconds: 55 } });
  t.equal(clock.pending, 0);
});

t.test('another reason of an outage that lasts is a line, and each reason only once', async t => {
  const { clock, logger, outage, messages } = setUp();
  outage.lost('a', 'connection refused');
  for (let second = 0; second < 600; second++) {
    clock.advance(1_000);
    outage.lost('a', second % 2 === 0 ? 'WRONGPASS' : 'connection refused');
  }
  t.same(messages(), ['it is unavailable', 'it is unavailable. The reason has changed']);
  t.match(logger.lines[1], { level: 'error', fields: { name: 'it', reason: 'WRONGPASS' } });
  for (let second = 0; second < 1_800; second++) {
    clock.advance(1_000);
    outage.lost('a', `failure ${second}`);
  }
  t.equal(messages().length, 10, 'at most ten reasons, one a minute');
  outage.connected('a');
  clock.advance(60_000);
  outage.lost('a', 'connection refused');
  clock.advance(2_000);
  outage.lost('a', 'WRONGPASS');
  clock.advance(58_000);
  t.same(messages().slice(10), [
    'it is available again',
    'it is unavailable',
    'it is unavailable. The reason has changed',
  ]);
  t.equal(clock.pending, 0);
});

t.test('a further part that is lost for another reason is a line, also within the same second', async t => {
  for (const ms of [0, 2_000]) {
    const { clock, logger, outage, messages } = setUp();
    outage.lost('a', 'connection refused');
    clock.advance(ms);
    outage.lost('b', 'WRONGPASS');
    outage.lost('c', 'connection refused');
    clock.advance(2_000);
    outage.lost('b', 'WRONGPASS');
    clock.advance(60_000);
    t.same(messages(), ['it is unavailable', 'it is unavailable. The reason has changed']);
    t.match(logger.lines[1], { fields: { reason: 'WRONGPASS' } });
  }
});

t.test('several threads that miss the same thing are one outage', async t => {
  const { clock, log, logger, messages } = setUp();
  log.began(TEXTS, 'gone', false, 1);
  log.began(TEXTS, 'gone', false, 2);
  log.began(TEXTS, 'gone', false);
  log.over(TEXTS, 3, 1);
  log.over(TEXTS, 4);
  t.equal(messages().length, 1);
  clock.advance(1_000);
  log.threadEnded(2);
  t.match(logger.lines.at(-1), { message: 'it is available again', fields: { seconds: 1, failedCalls: 7 } });
  log.over(TEXTS, 1, 2);
  t.equal(messages().length, 2, 'what a thread says after its end is nothing');
});

t.test('outages of different dependencies are separate, and a bounded number is recorded', async t => {
  const { clock, log, logger } = setUp();
  const named = (name: string): OutageTexts => ({ ...TEXTS, fields: { name } });
  for (let i = 0; i < 2_000; i++) {
    log.began(named(`thing ${i}`), 'gone', false);
    log.over(named(`thing ${i}`), 0);
  }
  t.equal(logger.lines.length, 4_000);
  log.began(named('thing 1999'), 'gone', false);
  t.equal(logger.lines.length, 4_000, 'the last is remembered');
  log.stop();
  clock.advance(60_000);
  t.equal(logger.lines.length, 4_000, 'nothing is told after the stop');
});
