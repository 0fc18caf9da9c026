import * as tls from 'node:tls';
import { casByFiles } from './ca-files.ts';

/** These functions were added in Node.js 22.15 and 22.19. The Node.js of a host may be older. */
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
 * Sets the same authorities for client libraries that do not accept a list. The setting applies to the calling thread.
 * With Node.js before 22.19, these libraries trust the authorities bundled with Node.js and those of
 * `NODE_EXTRA_CA_CERTS` only.
 */
export function trustCasEverywhere(): void {
  setDefaultCACertificates?.(trustedCas());
}
