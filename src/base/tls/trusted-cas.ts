import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as tls from 'node:tls';
import { rootCertificates } from 'node:tls';

/** These functions were added in Node.js 22.15 and 22.19. The Node.js of a host may be older. */
const { getCACertificates, setDefaultCACertificates }: Partial<typeof tls> = tls;

/**
 * Returns the CA certificates (PEM) that every TLS client of this program trusts: those bundled with Node.js (or those
 * of OpenSSL, with `--use-openssl-ca`), those of `NODE_EXTRA_CA_CERTS`, those of the system's store (which
 * `SSL_CERT_FILE` and `SSL_CERT_DIR` replace), and `more`.
 *
 * @param more additional certificates from the file of a setting; empty if the setting is not set
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

/** Files in which operating systems keep the certificates of all trusted authorities. */
const SYSTEM_FILES = [
  '/etc/ssl/certs/ca-certificates.crt', // Debian, Ubuntu, Alpine, Arch
  '/etc/pki/tls/certs/ca-bundle.crt', // Fedora, Red Hat
  '/etc/ssl/ca-bundle.pem', // SUSE
  '/etc/ssl/cert.pem', // Alpine, macOS, BSD
];

/**
 * Replacement for `getCACertificates` of Node.js, which exists since 22.15. Returns the certificates (PEM) of the
 * authorities bundled with Node.js, of `NODE_EXTRA_CA_CERTS`, and of the system's store, which `SSL_CERT_FILE` and
 * `SSL_CERT_DIR` replace. As in Node.js, files that cannot be read are ignored.
 */
function casByFiles(env: NodeJS.ProcessEnv): string[] {
  const extra = env['NODE_EXTRA_CA_CERTS'];
  return [...rootCertificates, ...(extra === undefined ? [] : textsOf([extra])), ...systemCas(env)];
}

function systemCas({ SSL_CERT_FILE: file, SSL_CERT_DIR: folders }: NodeJS.ProcessEnv): string[] {
  if (file === undefined && folders === undefined) return textsOf(SYSTEM_FILES).slice(0, 1);
  const named = file === undefined ? [] : [file];
  return textsOf([...named, ...(folders ?? '').split(':').flatMap(filesIn)]);
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder).map(name => join(folder, name));
  } catch {
    return [];
  }
}

/** Returns the contents of the readable files. */
function textsOf(paths: readonly string[]): string[] {
  return paths.flatMap(path => {
    try {
      return [readFileSync(path, 'utf8')];
    } catch {
      return [];
    }
  });
}
