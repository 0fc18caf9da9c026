import t from 'tap';
import type { CheckingProxy } from '../exam/checking-proxy.ts';
import { runCheckingFailureExam } from '../exam/checking-proxy-failures.ts';
import { startCheckingHaproxy } from '../support/proxies/checking/haproxy.ts';
import { missing } from '../support/tools.ts';

const proxy: CheckingProxy = { start: startCheckingHaproxy, informs: 'client' };
const skip = missing('haproxy', 'haproxy');

t.test('HAProxy', { skip }, t => runCheckingFailureExam(t, proxy));
