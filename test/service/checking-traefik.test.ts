import t from 'tap';
import { type CheckingProxy, runCheckingExam } from '../exam/checking-proxy.ts';
import { startTraefik, traefikMissing } from '../support/proxies/checking/traefik.ts';

// A real Traefik runs ops/traefik as it is, except addresses, ports and timeouts.

const proxy: CheckingProxy = {
  start: startTraefik,
  informs: 'website',
  passesRepeated: true,
  confusesRefusals: true,
};
const skip = traefikMissing;

t.test('through Traefik clients get', { skip }, t => runCheckingExam(t, proxy));
