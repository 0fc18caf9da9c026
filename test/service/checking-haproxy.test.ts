import t from 'tap';
import { type CheckingProxy, runCheckingExam } from '../exam/checking-proxy.ts';
import { startCheckingHaproxy } from '../support/proxies/checking/haproxy.ts';
import { missing } from '../support/tools.ts';

// A real HAProxy runs ops/haproxy/check-requests.cfg as it is, except addresses, ports and timeouts.

const proxy: CheckingProxy = { start: startCheckingHaproxy, informs: 'client' };
const skip = missing('haproxy', 'haproxy');

t.test('through HAProxy clients get', { skip }, t => runCheckingExam(t, proxy));
