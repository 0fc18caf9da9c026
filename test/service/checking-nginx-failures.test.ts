import t from 'tap';
import { runCheckingFailureExam } from '../exam/checking-proxy-failures.ts';
import { startCheckingNginx } from '../support/proxies/checking/nginx.ts';
import { missing } from '../support/tools.ts';

t.test('check-requests.conf of nginx', { skip: missing('nginx', 'nginx') }, t =>
  runCheckingFailureExam(t, { start: startCheckingNginx, informs: 'client' }),
);
