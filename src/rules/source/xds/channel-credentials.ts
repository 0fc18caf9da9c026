import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import { type ChannelCredentials, credentials } from '@grpc/grpc-js';
import { asError } from '../../../base/fault.ts';
import type { TlsRemedies } from '../../../base/tls/tls-failure.ts';
import { trustedCas } from '../../../base/tls/trusted-cas.ts';

/** How an xDS server proves who it is, and we to it. Paths of PEM files, each empty for none. */
export interface XdsTls {
  /** CAs that may have signed the server's certificate, beside the other trusted ones. */
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
  /** The name that the server's certificate must be valid for; empty for the host of the address. */
  readonly serverName: string;
}

/**
 * Reads the files, anew for each connection, so that certificates may be replaced while the service runs.
 * @throws Error naming the setting and the file
 */
export async function channelCredentials(tls: XdsTls | null): Promise<ChannelCredentials> {
  if (tls === null) return credentials.createInsecure();
  const ca = await readPem('CONFIG_GRPC_XDS_SERVER_TLS_CACERT', tls.caFile);
  const cert = await readPem('CONFIG_GRPC_XDS_CLIENT_TLS_CERT', tls.certFile);
  const key = await readPem('CONFIG_GRPC_XDS_CLIENT_TLS_KEY', tls.keyFile);
  if (ca !== null) checkCertificate('CONFIG_GRPC_XDS_SERVER_TLS_CACERT', tls.caFile, ca);
  const roots = Buffer.from(trustedCas(ca?.toString()).join('\n'));
  try {
    return credentials.createSsl(roots, key, cert, identityCheck(tls.serverName));
  } catch (failure) {
    const text =
      `CONFIG_GRPC_XDS_CLIENT_TLS_CERT="${tls.certFile}" and CONFIG_GRPC_XDS_CLIENT_TLS_KEY="${tls.keyFile}" cannot be ` +
      `used (${asError(failure).message}): they must be PEM and a pair, the key without a passphrase`;
    throw new Error(text, { cause: failure });
  }
}

/** What to do about a handshake that failed. */
export const XDS_TLS_REMEDIES: TlsRemedies = {
  ca: 'CONFIG_GRPC_XDS_SERVER_TLS_CACERT',
  otherName: 'set CONFIG_GRPC_XDS_SERVER_TLS_SAN to the name in the certificate',
  clientCertificate: 'CONFIG_GRPC_XDS_CLIENT_TLS_CERT',
  plain: 'set CONFIG_GRPC_XDS_SERVER_USE_TLS=false, or write http:// before its address',
};

/** The channel options that go with the credentials. A name is also what the server is asked for (SNI). */
export function serverNameOptions(tls: XdsTls | null): Record<string, string> {
  const name = tls?.serverName ?? '';
  return name === '' || isIP(name) !== 0 ? {} : { 'grpc.ssl_target_name_override': name };
}

/** An address cannot be asked for (RFC 6066, 3), only be looked for in the certificate. */
function identityCheck(serverName: string): { checkServerIdentity?: typeof checkServerIdentity } {
  if (isIP(serverName) === 0) return {};
  return { checkServerIdentity: (_host, certificate) => checkServerIdentity(serverName, certificate) };
}

async function readPem(setting: string, file: string): Promise<Buffer | null> {
  if (file === '') return null;
  try {
    return await readFile(file);
  } catch (failure) {
    throw new Error(`${setting}="${file}" cannot be read: ${asError(failure).message}`, { cause: failure });
  }
}

/** TLS takes a file without a certificate for one that trusts nobody else. */
function checkCertificate(setting: string, file: string, pem: Buffer): void {
  try {
    new X509Certificate(pem);
  } catch (failure) {
    throw new Error(`${setting}="${file}" holds no certificate in PEM form`, { cause: failure });
  }
}
