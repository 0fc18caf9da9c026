import t from 'tap';
import type { BatchObserver } from '../../../src/decision/batch-observer.ts';
import { Decisions, request } from '../../support/decisions.ts';
import { FailingStore } from '../../support/failing-store.ts';
import { embeddedStore } from '../../support/stores.ts';

const RULES = `
domain: d
descriptors:
  - key: k
    rate_limit: { unit: hour, requests_per_unit: 2 }
`;

function decisions(observer: BatchObserver): Decisions {
  const store = new FailingStore(embeddedStore());
  store.uncountable.add('d_k_lost_1699999200');
  return new Decisions({ store, rules: RULES, observers: [observer] });
}

t.test('an observer sees every decided request of a batch, and which ones have no decision', async t => {
  const seen: (string | undefined)[][] = [];
  const asked = decisions({
    observe: ({ size, faults }) => {
      seen.push(Array.from({ length: size }, (_, i) => faults[i]?.code ?? 'decided'));
    },
  });
  const answers = ['k=a', 'k=lost', 'other=b'].map(text => asked.ask(request('d', text)));
  await Promise.allSettled(answers);
  t.same(seen, [['decided', 'store_failed', 'decided']]);
  await asked.ask(request('d', 'k=a'));
  t.same(seen[1], ['decided'], 'faults of the batch before are not seen again');
});

t.test('an observer that fails leaves decisions as they are, and the log says so', async t => {
  const asked = decisions({
    observe: () => {
      throw new Error('broken');
    },
  });
  t.match(await asked.ask(request('d', 'k=a')), { overallCode: 1, statuses: [{ limitRemaining: 1 }] });
  t.match(asked.logger.lines, [{ level: 'error', message: /Could not record decisions/ }]);
});
