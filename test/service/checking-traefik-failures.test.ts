import t from 'tap';
import type { CheckingProxy } from '../exam/checking-proxy.ts';
import { runCheckingFailureExam } from '../exam/checking-proxy-failures.ts';
import { startTraefik, traefikMissing } from '../support/proxies/checking/traefik.ts';

const proxy: CheckingProxy = {
  start: startTraefik,
  informs: 'website',
  passesRepeated: true,
  confusesRefusals: true,
};
const skip = traefikMissing;

t.test('Traefik', { skip }, t => runCheckingFailureExam(t, proxy));
