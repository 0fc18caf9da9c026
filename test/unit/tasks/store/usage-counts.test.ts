import t from 'tap';
import { placeOfCount } from '../../../../src/tasks/model/usage.ts';
import { MAX_USAGE_INCREMENTS } from '../../../../src/tasks/store/usage.ts';
import { UsageCounts } from '../../../../src/tasks/store/usage-counts.ts';

const AT = Date.UTC(2026, 2, 1, 10);
const CREATED = placeOfCount('created');

function task(worker: number, updatedAt = AT) {
  return { workerId: `wrk_${worker}`, updatedAt };
}

t.test('what is given back is taken again, together with what was counted since', async t => {
  const counts = new UsageCounts();
  counts.count('acme', task(1, AT + 59_999), 'created');
  const [taken] = counts.take();
  counts.giveBack(taken);
  counts.count('acme', task(1), 'created');
  t.strictSame(counts.take(), [
    {
      tenant: 'acme',
      increments: [
        { at: AT, workerId: null, figures: [CREATED, 2] },
        { at: AT, workerId: 'wrk_1', figures: [CREATED, 2] },
      ],
    },
  ]);
});

t.test('usage of many workers is taken in parts that the store accepts', async t => {
  const counts = new UsageCounts();
  for (let i = 0; i < MAX_USAGE_INCREMENTS; i++) counts.count('acme', task(i), 'created');
  counts.count('globex', task(0), 'created');
  t.same(
    counts.take().map(({ tenant, increments }) => [tenant, increments.length]),
    [
      ['acme', MAX_USAGE_INCREMENTS],
      ['acme', 1],
      ['globex', 2],
    ],
  );
});

t.test('its memory is bounded: further workers are counted with their tenant only', async t => {
  const counts = new UsageCounts();
  for (let i = 0; i < 30_000; i++) counts.count('acme', task(i), 'created');
  counts.count('globex', task(0), 'created');
  const increments = counts.take().flatMap(({ increments }) => increments);
  t.equal(increments.length, 20_000);
  t.strictSame(increments[0], { at: AT, workerId: null, figures: [CREATED, 30_000] });
  counts.count('globex', task(0), 'created');
  t.equal(counts.take().length, 1, 'there is room again');
});
