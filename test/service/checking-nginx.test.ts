import t from 'tap';
import { runCheckingExam } from '../exam/checking-proxy.ts';
import { ask, statusesOf } from '../support/proxies/checking/client.ts';
import { startCheckingNginx } from '../support/proxies/checking/nginx.ts';
import { websiteRules } from '../support/proxies/checking/rules.ts';
import { startWebsite } from '../support/proxies/website.ts';
import { serviceFor } from '../support/service.ts';
import { missing } from '../support/tools.ts';

// A real nginx runs ops/nginx/check-requests.conf as it is, except addresses and timeouts.

const skip = missing('nginx', 'nginx');

t.test('through check-requests.conf of nginx clients get', { skip }, t =>
  runCheckingExam(t, { start: startCheckingNginx, informs: 'client' }),
);

t.test('a 403 of nginx itself stays one, and a refusal beside it is 429', { skip }, async t => {
  const service = await serviceFor(t, { rules: websiteRules() });
  const behind = { instances: [service.http], website: await startWebsite(t), timeout: '10s' } as const;
  const front = await startCheckingNginx(t, behind, [
    ['location / {', 'location /private/ { deny all; }\n\n    location / {'],
  ]);
  const headers = { 'x-user': 'ann' };
  const paths = ['/private/', '/', '/', '/private/', '/'];
  const replies = [];
  for (const path of paths) replies.push(await ask(front, path, { headers }));
  t.same(statusesOf(replies), [403, 200, 200, 403, 429]);
});
