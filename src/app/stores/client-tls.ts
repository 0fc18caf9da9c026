import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { asError } from '../../base/fault.ts';
import { type ClientTls, explainTlsFailure, type TlsRemedies } from '../../base/tls/client-tls.ts';
import { trustedCas } from '../../base/tls/trusted-cas.ts';

/** Files for TLS connections to a store. A path is empty if its setting is not set. */
export interface ClientTlsFiles {
  readonly certificate: string;
  readonly key: string;
  /** CA certificates that are trusted in addition to those of the system. */
  readonly ca: string;
  readonly skipHostnameVerification: boolean;
  /** The prefix of the setting names, such as `ALTCACHE_TLS`. */
  readonly settings: string;
}

/** Remedies for failed handshakes of a client that has all TLS settings with this prefix. */
export function allRemedies(settings: string, enabledBy: string = settings): TlsRemedies {
  return {
    ca: `${settings}_CACERT`,
    otherName: `set ${settings}_SKIP_HOSTNAME_VERIFICATION=true`,
    clientCertificate: `${settings}_CLIENT_CERT`,
    plain: `set ${enabledBy}=false`,
  };
}

/**
 * Creates the TLS configuration of the connections to one store. Certificates of servers are always checked against the
 * trusted CAs. Files are read once, not for each connection.
 *
 * @throws Error that names the setting and the file, if a file cannot be read or has invalid content
 */
export function clientTls(
  files: ClientTlsFiles,
  remedies: TlsRemedies = allRemedies(files.settings),
): ClientTls {
  const { settings } = files;
  const ca = readCa(files.ca, `${settings}_CACERT`);
  const cert = read(
    files.certificate,
    `${settings}_CLIENT_CERT`,
    'certificate',
    text => new X509Certificate(text),
  );
  const key = read(files.key, `${settings}_CLIENT_KEY`, 'private key without a passphrase', createPrivateKey);
  return {
    options: {
      // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED changes the default.
      rejectUnauthorized: true,
      secureContext: createSecureContext({
        minVersion: 'TLSv1.2',
        ca: trustedCas(ca),
        ...(cert !== '' && { cert, key }),
      }),
      // Node.js calls this function after it has verified the chain. By default the function checks the host name.
      ...(files.skipHostnameVerification && { checkServerIdentity: () => undefined }),
    },
    certificate: cert,
    explain: reason => explainTlsFailure(reason, remedies),
  };
}

/**
 * Reads the certificates of a file. Returns an empty text if the path is empty.
 *
 * @throws Error that names the setting and the file, if the file cannot be read or contains no certificate
 */
export function readCa(path: string, setting: string): string {
  return read(path, setting, 'certificate', text => new X509Certificate(text));
}

/** Reads a PEM file. Returns an empty text if the path is empty. */
function read(path: string, setting: string, content: string, check: (text: string) => unknown): string {
  if (path === '') return '';
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new Error(`${setting}: '${path}' cannot be read (${asError(cause).message})`, { cause });
  }
  try {
    check(text);
  } catch {
    // The error is not passed on as the cause, because it may quote the key.
    throw new Error(`${setting}: '${path}' must hold a ${content} in PEM form`);
  }
  return text;
}
