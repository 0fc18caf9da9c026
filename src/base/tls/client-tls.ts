import type { ConnectionOptions } from 'node:tls';

/** Whether and how a client of one server, or of one group of servers, uses TLS. */
export interface ClientTls {
  /** Options for `tls.connect`, except the address; null for connections without TLS. */
  readonly options: ConnectionOptions | null;
  /** The client certificate and those of its CAs in PEM form; empty without a certificate. */
  readonly certificate: string;
  /** Adds to the reason of a connection that failed before the first answer which setting to change. */
  explain(reason: string): string;
}

/** @param enable what to do if the server expects TLS: `set REDIS_TLS=true` */
export function withoutTls(enable: string): ClientTls {
  // What a server does that receives something else than the beginning of a TLS handshake.
  const isClosed = (reason: string): boolean =>
    /ECONNRESET|EPIPE|connection was closed|Last error: Failed to connect/.test(reason);
  return {
    options: null,
    certificate: '',
    explain: reason =>
      isClosed(reason)
        ? `${reason} before the server answered (it may expect TLS; if so, ${enable})`
        : reason,
  };
}

/** Remedies for a failed handshake, in terms of the settings of one client. */
export interface TlsRemedies {
  /** The setting for the file of an additional CA. */
  readonly ca: string;
  /** What to do if the certificate is for another name: `set REDIS_TLS_SKIP_HOSTNAME_VERIFICATION=true`. */
  readonly otherName?: string;
  /** The setting for the file of the client certificate. */
  readonly clientCertificate?: string;
  /** What to do if the server does not use TLS: `set REDIS_TLS=false`. */
  readonly plain: string;
}

/** An error message of OpenSSL. Beside the reason it contains a thread id and a position in the source of OpenSSL. */
const OPENSSL = /(?:write EPROTO )?[0-9A-F]+:error:[0-9A-F]+:SSL routines:[^:]*:([^:\n]+):[\s\S]*/;

/**
 * Adds to the reason of a failed connection what to do about it. A reason that has nothing to do with TLS is returned
 * unchanged. Some libraries pass on only the text of an error, so the text is matched instead of an error code.
 */
export function explainTlsFailure(reason: string, remedies: TlsRemedies): string {
  const shown = reason.replace(OPENSSL, 'TLS: $1');
  const remedy = REMEDIES.find(([pattern]) => pattern.test(shown));
  return remedy === undefined ? shown : `${shown} (${remedy[1](remedies)})`;
}

/** The first pattern that matches applies. */
const REMEDIES: readonly (readonly [pattern: RegExp, remedy: (remedies: TlsRemedies) => string])[] = [
  [
    /unable to verify the first certificate|self.signed certificate|unable to get (local )?issuer/i,
    ({ ca }) => `no trusted CA has signed the certificate of the server; set ${ca} to the file of its CA`,
  ],
  [
    /does not match certificate|is not in the cert|is not cert's CN/i,
    ({ otherName }) => {
      const connect = 'the certificate of the server is for another name; connect by a name that it holds';
      return otherName === undefined ? connect : `${connect}, or ${otherName}`;
    },
  ],
  [
    /certificate has expired/i,
    () => 'the certificate of the server is no longer valid; renew it, or correct the clock of this machine',
  ],
  [
    /certificate is not yet valid/i,
    () => 'the certificate of the server is not valid yet; correct the clock of this machine',
  ],
  [/alert certificate required|alert handshake failure/i, wantsCertificate],
  [
    /alert (unknown ca|bad certificate|certificate (unknown|expired|revoked)|unsupported certificate|access denied)/i,
    ({ clientCertificate }) =>
      clientCertificate === undefined
        ? 'the server does not accept the client certificate'
        : `the server does not accept the client certificate; check ${clientCertificate}`,
  ],
  [
    /wrong version number|packet length too long|before secure TLS connection was established/i,
    ({ plain }) => `the server does not seem to use TLS; if so, ${plain}`,
  ],
  [/ETIMEDOUT|no answer|no response/, ({ plain }) => `if the server does not use TLS, ${plain}`],
];

function wantsCertificate({ clientCertificate }: TlsRemedies): string {
  return clientCertificate === undefined
    ? 'the server asks for a client certificate, which this client has no setting for'
    : `the server may ask for a client certificate; set ${clientCertificate} and the file of its key`;
}
