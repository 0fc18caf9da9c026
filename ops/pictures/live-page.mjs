// The pictures of the live page, and the requests behind them.
import { setTimeout as pause } from 'node:timers/promises';
import { TOKEN } from './service.mjs';

/** Each picture: its address, and what is done before it is taken. */
export const LIVE_PAGE = {
  overview: { query: '', ready: 'table[aria-label="Top limits"] tbody tr' },
  limit: { query: '?view=limit&path=shop.user', ready: 'table[aria-label="Hottest keys"] tbody tr' },
  override: {
    query: '?view=limit&path=shop.user',
    ready: 'dialog .effect',
    act: async page => {
      await page.getByRole('button', { name: 'user=ann' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Override…' }).click();
      await page.getByLabel('Requests per window').fill('500');
      await page.getByLabel('Reason').fill('ticket 4711: sale');
    },
  },
  explain: {
    query: `?view=explain&domain=shop&ask=${encodeURIComponent('[["user","ann"],["path","/search"]]')}`,
    ready: '.explain-answer .levels',
  },
  changes: { query: '?view=changes', ready: 'table[aria-label="Active changes"] tbody tr' },
  rehearsal: { query: '?view=rehearsal', ready: 'table[aria-label="Keys of the last changes"] tbody tr' },
};

/** An override and a ban, for the page with the changes. */
export async function steer(service) {
  const inTwoHours = new Date(Date.now() + 7_200_000).toISOString();
  const put = (kind, body) =>
    fetch(`http://${service.debug}/api/v1/${kind}`, {
      method: 'PUT',
      headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ domain: 'shop', until: inTwoHours, ...body }),
    });
  await put('overrides', {
    entries: [{ key: 'user', value: 'zoe' }],
    requests_per_unit: 400,
    reason: 'ticket 4711: sale',
  });
  await put('bans', { entries: [{ key: 'user', value: '*bot*' }], reason: 'copies all prices' });
}

/** Sends requests with skewed keys, more and fewer of them in turn. Returns a function that ends it. */
export function keepAsking(service) {
  let isOver = false;
  const users = ['ann', 'bob', 'eve', 'zoe', 'price-bot-7', 'dan', 'mia', 'leo', 'ida', 'max'];
  const loop = async () => {
    while (!isOver) {
      const skewed = Math.floor(Math.random() ** 2 * users.length);
      const entries = [
        [['user', users[skewed]]],
        [['path', Math.random() < 0.4 ? '/search' : '/checkout']],
        [['ip', `10.0.3.${skewed + 1}`]],
        [
          ['tenant', `t${skewed}`],
          ['plan', skewed % 2 === 0 ? 'free' : 'gold'],
        ],
      ];
      const descriptors = entries.map(pairs => ({ entries: pairs.map(([key, value]) => ({ key, value })) }));
      const body = JSON.stringify({ domain: 'shop', descriptors });
      await (await fetch(`http://${service.http}/json`, { method: 'POST', body })).arrayBuffer();
      await pause(8 + 8 * Math.sin(Date.now() / 9_000));
    }
  };
  const running = loop();
  return async () => {
    isOver = true;
    await running;
  };
}
