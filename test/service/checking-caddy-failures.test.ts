import t from 'tap';
import type { CheckingProxy } from '../exam/checking-proxy.ts';
import { runCheckingFailureExam } from '../exam/checking-proxy-failures.ts';
import { startCaddy } from '../support/proxies/checking/caddy.ts';
import { missing } from '../support/tools.ts';

const proxy: CheckingProxy = { start: startCaddy, informs: 'client' };
const skip = missing('caddy', 'caddy');

t.test('Caddy', { skip }, t => runCheckingFailureExam(t, proxy));
