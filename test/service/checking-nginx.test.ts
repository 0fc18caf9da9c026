import t from 'tap';
import { runCheckingExam } from '../exam/checking-proxy.ts';
import { startCheckingNginx } from '../support/proxies/checking/nginx.ts';
import { missing } from '../support/tools.ts';

// A real nginx runs ops/nginx/check-requests.conf as it is, except addresses and timeouts.

t.test('through check-requests.conf of nginx clients get', { skip: missing('nginx', 'nginx') }, t =>
  runCheckingExam(t, { start: startCheckingNginx, informs: 'client' }),
);
