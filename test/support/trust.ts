import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { Teardown } from './stores.ts';

/** Makes this process trust an authority by default, as `NODE_EXTRA_CA_CERTS` does, until the test is over. */
export function trustByDefault(t: Teardown, certificate: string): void {
  const before = getCACertificates('default');
  t.teardown(() => setDefaultCACertificates(before));
  setDefaultCACertificates([...before, certificate]);
}
