import { HOUR_MS, MINUTE_MS } from '../../../src/base/clock.ts';
import type { Account } from '../../../src/tasks/model/documents.ts';
import {
  MAX_USAGE_WORKERS,
  placeOfCount,
  placeOfTime,
  USAGE_SPANS,
  type UsageSpan,
  usageStart,
} from '../../../src/tasks/model/usage.ts';
import { MAX_USAGE_INCREMENTS, MAX_USAGE_INTERVALS } from '../../../src/tasks/store/usage.ts';
import type { Topic } from './exam.ts';
import { ACME, type Scene } from './scene.ts';

const CREATED = placeOfCount('created');
const STARTED = placeOfCount('started');
const SECOND = placeOfTime('duration', 1_000);

/** The usage up to now. */
function usageOf({ store, now }: Scene, span: UsageSpan, workerId: string | null = null, tenant = ACME) {
  const { ms } = USAGE_SPANS[span];
  const intervals = MAX_USAGE_INTERVALS;
  const from = usageStart(span, now) - (intervals - 1) * ms;
  return store.usage(tenant, { span, workerId, from, intervals });
}

async function purge({ store }: Scene): Promise<void> {
  while ((await store.purge(ACME, { succeededMs: HOUR_MS, otherMs: HOUR_MS }, 1)).more);
}

export const usage: Topic = test => {
  test('there is none at first', async (scene, t) => {
    t.strictSame(await usageOf(scene, 'minute'), []);
    t.strictSame(await usageOf(scene, 'hour', scene.mailer.id), []);
    t.strictSame(await usageOf(scene, 'hour', 'wrk_nobody'), []);
    t.strictSame(await usageOf(scene, 'hour', null, 'nobody'), []);
  });

  test('what is added in an interval is summed, of the tenant and of each worker', async (scene, t) => {
    const { store, mailer, reporter, now } = scene;
    await scene.create([scene.newTask(), scene.make.newTask(reporter)]);
    await store.addUsage(ACME, [
      { at: now, workerId: null, figures: [CREATED, 3, SECOND, 1] },
      { at: now, workerId: mailer.id, figures: [CREATED, 1] },
      { at: now + MINUTE_MS - 1, workerId: mailer.id, figures: [STARTED, 2, SECOND, 70_000] },
    ]);
    await store.addUsage(ACME, [{ at: now + 1, workerId: null, figures: [CREATED, 1, STARTED, 5] }]);
    scene.clock.advance(MINUTE_MS);
    await store.addUsage(ACME, [
      { at: scene.now, workerId: null, figures: [CREATED, 10] },
      { at: scene.now, workerId: reporter.id, figures: [CREATED, 2 ** 40] },
    ]);
    const first = { at: now, figures: [CREATED, 4, STARTED, 5, SECOND, 1] };
    t.strictSame(await usageOf(scene, 'minute'), [first, { at: scene.now, figures: [CREATED, 10] }]);
    t.strictSame(await usageOf(scene, 'hour'), [
      { at: usageStart('hour', now), figures: [CREATED, 14, STARTED, 5, SECOND, 1] },
    ]);
    const ofMailer = [CREATED, 1, STARTED, 2, SECOND, 70_000];
    t.strictSame(await usageOf(scene, 'minute', mailer.id), [{ at: now, figures: ofMailer }]);
    t.strictSame(await usageOf(scene, 'minute', reporter.id), [
      { at: scene.now, figures: [CREATED, 2 ** 40] },
    ]);
    t.strictSame(
      await store.usage(ACME, { span: 'minute', workerId: null, from: now, intervals: 1 }),
      [first],
      'no more intervals than were asked for',
    );
  });

  test('minutes are kept for hours, and hours for days', async (scene, t) => {
    const { store, now } = scene;
    const add = (at: number) => store.addUsage(ACME, [{ at, workerId: null, figures: [CREATED, 1] }]);
    await add(now);
    scene.clock.advance(USAGE_SPANS.minute.keepMs + MINUTE_MS);
    t.strictSame(await usageOf(scene, 'minute'), []);
    await add(now);
    await purge(scene);
    t.strictSame(await usageOf(scene, 'minute'), [], 'it is not added to a minute that is no longer kept');
    t.strictSame(await usageOf(scene, 'hour'), [{ at: now, figures: [CREATED, 2] }]);
    scene.clock.advance(USAGE_SPANS.hour.keepMs - USAGE_SPANS.minute.keepMs - MINUTE_MS);
    await purge(scene);
    t.equal((await usageOf(scene, 'hour')).length, 1);
    scene.clock.advance(HOUR_MS);
    await add(now);
    await purge(scene);
    t.strictSame(await usageOf(scene, 'hour'), []);
  });

  test('a bounded number of workers has figures in an interval', async (scene, t) => {
    const { store, make, now } = scene;
    const workers = Array.from({ length: MAX_USAGE_WORKERS + 1 }, (_, i) => make.worker({ name: `w${i}` }));
    await store.apply(ACME, workers);
    await scene.create(workers.map(worker => make.newTask(worker)));
    const add = async (ids: readonly (string | null)[]) => {
      const increments = ids.map(workerId => ({ at: now, workerId, figures: [CREATED, 1] }));
      for (let i = 0; i < ids.length; i += MAX_USAGE_INCREMENTS) {
        await store.addUsage(ACME, increments.slice(i, i + MAX_USAGE_INCREMENTS));
      }
    };
    const ids = workers.map(({ id }) => id);
    await add([null, ...ids]);
    await add([null, ...ids]);
    t.strictSame(await usageOf(scene, 'minute'), [{ at: now, figures: [CREATED, 2] }]);
    t.strictSame(await usageOf(scene, 'minute', ids[0]), [{ at: now, figures: [CREATED, 2] }]);
    t.strictSame(await usageOf(scene, 'minute', ids[MAX_USAGE_WORKERS]), []);
    scene.clock.advance(HOUR_MS);
    const [last] = ids.slice(-1);
    await store.addUsage(ACME, [{ at: scene.now, workerId: last, figures: [CREATED, 1] }]);
    t.equal((await usageOf(scene, 'minute', last)).length, 1, 'other workers in another interval');
  });

  test('a tenant that is forgotten, or that nobody knows, has none', async (scene, t) => {
    const { store, make } = scene;
    const figures = [{ at: scene.now, workerId: null, figures: [CREATED, 1] }];
    await store.addUsage('nobody', figures);
    t.strictSame(await usageOf(scene, 'hour', null, 'nobody'), []);
    await store.addUsage(ACME, figures);
    for (let place: string | null = null; ; ) {
      place = await store.forgetTenant(ACME, place);
      if (place === null) break;
    }
    t.strictSame(await usageOf(scene, 'hour'), []);
    // A thread may write what it has counted at the last moment.
    await store.addUsage(ACME, figures);
    for (const { kind, id } of [scene.mailer, scene.reporter, make.account(ACME)]) {
      await store.apply(ACME, [{ op: 'delete', kind, id, expect: 'any' }]);
    }
    await store.apply('globex', [make.account('globex')]);
    t.strictSame(await usageOf(scene, 'hour', null, 'globex'), [], 'no other tenant inherits it');
  });

  test('nothing is added to the usage of a tenant whose account is being deleted', async (scene, t) => {
    const { store, make } = scene;
    const add = (workerId: string | null) =>
      store.addUsage(ACME, [{ at: scene.now, workerId, figures: [CREATED, 1] }]);
    const account = make.account(ACME);
    const deletion = { requestedAt: scene.now, requestId: 'req_1', finishedAt: null };
    const body = { ...(account.body as Account), status: 'deleting', deletion } as const;
    await store.apply(ACME, [{ ...account, expect: 'any', body }]);
    await add(null);
    await add(scene.mailer.id);
    t.strictSame(await usageOf(scene, 'hour'), []);
    t.strictSame(await usageOf(scene, 'hour', scene.mailer.id), []);
    await store.apply(ACME, [{ ...account, expect: 'any' }]);
    await add(null);
    t.equal((await usageOf(scene, 'hour')).length, 1, 'other accounts have usage');
  });
};
