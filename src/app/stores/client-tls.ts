import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { asError } from '../../base/fault.ts';
import { type ClientTls, explainTlsFailure, type TlsRemedies } from '../../base/tls/client-tls.ts';
import { trustedCas } from '../../base/tls/trusted-cas.ts';

/** Files for connections to a store over TLS, and the settings that name them. An empty path names none. */
export interface ClientTlsFiles {
  readonly certificate: string;
  readonly key: string;
  /** Trusted beside the other CAs. */
  readonly ca: string;
  readonly skipHostnameVerification: boolean;
  /** What the names of the settings begin with: `ALTCACHE_TLS`. */
  readonly settings: string;
}

/** What settings of these names can do about a failed handshake, when all of them exist. */
export function allRemedies(settings: string, enabledBy: string = settings): TlsRemedies {
  return {
    ca: `${settings}_CACERT`,
    otherName: `set ${settings}_SKIP_HOSTNAME_VERIFICATION=true`,
    clientCertificate: `${settings}_CLIENT_CERT`,
    plain: `set ${enabledBy}=false`,
  };
}

/**
 * What connections to one store have in common. Certificates of the other side are always checked against the trusted
 * CAs, which are read once, not for each connection.
 * @throws Error naming setting and file, when a file cannot be read or does not hold what it must
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
      // Said here, because an environment variable of Node.js changes the default.
      rejectUnauthorized: true,
      secureContext: createSecureContext({
        minVersion: 'TLSv1.2',
        ca: trustedCas(ca),
        ...(cert !== '' && { cert, key }),
      }),
      // The library has checked the chain by then; this would have compared the name.
      ...(files.skipHostnameVerification && { checkServerIdentity: () => undefined }),
    },
    explain: reason => explainTlsFailure(reason, remedies),
  };
}

/**
 * The certificates of a file; empty when the path is.
 * @throws Error naming setting and file, when it cannot be read or holds none
 */
export function readCa(path: string, setting: string): string {
  return read(path, setting, 'certificate', text => new X509Certificate(text));
}

/** The text of a PEM file; empty when the path is. */
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
    // The cause may quote the key.
    throw new Error(`${setting}: '${path}' must hold a ${content} in PEM form`);
  }
  return text;
}
