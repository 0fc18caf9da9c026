import t from 'tap';
import { runCheckingExam } from '../exam/checking-proxy.ts';
import { TRAEFIK, traefikMissing } from '../support/proxies/checking/traefik.ts';

// A real Traefik runs ops/traefik as it is, except addresses, ports and timeouts.

t.test('through Traefik clients get', { skip: traefikMissing }, t => runCheckingExam(t, TRAEFIK));
