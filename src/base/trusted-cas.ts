import * as tls from 'node:tls';
import { casByFiles } from './ca-files.ts';

/** A host's Node.js may be older: these came with 22.15 and 22.19. */
const { getCACertificates, setDefaultCACertificates }: Partial<typeof tls> = tls;

/**
 * The certificates (PEM) of the authorities that every TLS client of this program trusts: those that come with Node.js
 * (or of OpenSSL, with `--use-openssl-ca`), those of `NODE_EXTRA_CA_CERTS`, those of the system's store (`SSL_CERT_FILE`
 * and `SSL_CERT_DIR` name another one), and those of a setting beside them.
 *
 * @param more the content of the file that a setting names; empty for none
 */
export function trustedCas(more = ''): string[] {
  const all =
    getCACertificates === undefined
      ? casByFiles(process.env)
      : [...getCACertificates('default'), ...getCACertificates('system')];
  if (more !== '') all.push(more);
  return [...new Set(all)];
}

/**
 * The same authorities for clients of libraries, which take no list. It holds for the thread that calls it. On Node.js
 * before 22.19 they trust those of Node.js and of `NODE_EXTRA_CA_CERTS` alone.
 */
export function trustCasEverywhere(): void {
  setDefaultCACertificates?.(trustedCas());
}
