import { setTimeout as wait } from 'node:timers/promises';
import { forEachNumber } from './closed-loop.ts';
import { atMost, type Part } from './measurement.ts';

const MINUTE_MS = 60_000;
const TEMPLATE = { worker: 'later', cron: '* * * * *', overlap: 'allow', task: { payload: null } };

/** Very many schedules of the same minute. */
export const schedules: Part = async ({ service, size }) => {
  const tenant = await service.tenant(32);
  await tenant.json('POST', '/workers', { name: 'later', mode: 'pull' });
  // Made within one minute they all fire first at the next; otherwise the ones after.
  await forEachNumber(size.schedules, 32, async number => {
    await tenant.call('POST', '/schedules', JSON.stringify({ name: `s${number}`, ...TEMPLATE }));
  });
  const minute = (Math.floor(Date.now() / MINUTE_MS) + 1) * MINUTE_MS;
  await wait(minute - Date.now() + 8_000);
  const lags: number[] = [];
  let cursor: string | null = null;
  do {
    const query = `limit=200&order=asc&start=${minute}${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`;
    const page = await tenant.json('GET', `/tasks?${query}`);
    for (const task of page['data'] as { readonly created_at: string; readonly scheduled_for: string }[]) {
      if (Date.parse(task.scheduled_for) === minute) lags.push(Date.parse(task.created_at) - minute);
    }
    cursor = page['next_cursor'] as string | null;
  } while (cursor !== null);
  if (lags.length !== size.schedules) throw new Error(`${lags.length} of ${size.schedules} schedules fired`);
  return [
    atMost(
      `${size.schedules} schedules of one minute, the last fired after`,
      Math.max(...lags) / 1_000,
      's',
      2,
    ),
  ];
};
