import t from 'tap';
import { runCheckingFailureExam } from '../exam/checking-proxy-failures.ts';
import { TRAEFIK, traefikMissing } from '../support/proxies/checking/traefik.ts';

t.test('Traefik', { skip: traefikMissing }, t => runCheckingFailureExam(t, TRAEFIK));
