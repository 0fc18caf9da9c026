import t from 'tap';
import { type CheckingProxy, runCheckingExam } from '../exam/checking-proxy.ts';
import { startCaddy } from '../support/proxies/checking/caddy.ts';
import { missing } from '../support/tools.ts';

// A real Caddy runs ops/caddy/Caddyfile as it is, except addresses, ports and timeouts.

const proxy: CheckingProxy = { start: startCaddy, informs: 'client' };
const skip = missing('caddy', 'caddy');

t.test('through Caddy clients get', { skip }, t => runCheckingExam(t, proxy));
