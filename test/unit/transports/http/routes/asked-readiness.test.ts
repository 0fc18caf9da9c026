import t from 'tap';
import { Health } from '../../../../../src/base/health.ts';
import type { Answer } from '../../../../../src/transports/http/answer.ts';
import type { Exchange } from '../../../../../src/transports/http/exchange.ts';
import { AskedReadiness } from '../../../../../src/transports/http/routes/asked-readiness.ts';
import {
  type ReadinessOutcomes,
  readinessRoutes,
} from '../../../../../src/transports/http/routes/health-routes.ts';
import type { RequestHead } from '../../../../../src/transports/http/routes.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';

const OK = { outcome: 'ok', cause: null };

function open() {
  const clock = new ManualClock(0);
  let questions = 0;
  const asked = new AskedReadiness(['store', 'engine'], () => questions++);
  const ready = readinessRoutes(new Health(), asked.checks, clock).find(({ path }) => path === '/readyz');
  const ask = () =>
    new Promise<Answer>(resolve => {
      ready?.handle({ answer: resolve } as unknown as Exchange, {} as RequestHead);
    });
  return { clock, asked, ask, questions: () => questions };
}

t.test('the checks of a request share one question', async t => {
  const { asked, ask, questions } = open();
  const answers = [ask(), ask()];
  t.equal(questions(), 1);
  const outcomes: ReadinessOutcomes = new Map([
    ['store', { outcome: 'the disk is full', cause: 'disk_full' as string | null }],
    ['engine', OK],
  ]);
  asked.heard(outcomes);
  for (const { status, body } of await Promise.all(answers)) {
    t.equal(status, '503 Service Unavailable');
    t.match(JSON.parse(String(body)), {
      components: { store: 'the disk is full', engine: 'ok' },
      causes: { store: 'disk_full' },
    });
  }
});

t.test('a thread that does not answer is not ready, and is not asked again until it answers', async t => {
  const { clock, asked, ask, questions } = open();
  for (let i = 0; i < 3; i++) {
    const answer = ask();
    clock.advance(2_000);
    t.match(await answer, { status: '503 Service Unavailable', body: /the check timed out after 2000 ms/ });
  }
  t.equal(questions(), 1);
  const outcomes = new Map([
    ['store', OK],
    ['engine', OK],
  ]);
  asked.heard(outcomes);
  const later = ask();
  t.equal(questions(), 2);
  asked.heard(outcomes);
  t.match(await later, { status: '200 OK' });
});

t.test('without a connection to the other thread, no check succeeds', async t => {
  const { asked, ask } = open();
  const answer = ask();
  asked.lost();
  const lost = { status: '503 Service Unavailable', body: /the connection to the primary thread is lost/ };
  t.match(await answer, lost);
  t.match(await ask(), lost);
});
