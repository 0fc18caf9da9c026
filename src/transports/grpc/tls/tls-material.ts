import { constants, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { SecureContextOptions } from 'node:tls';
import { asError } from '../../../base/fault.ts';
import { TLS_SETTINGS, TlsFault, type TlsPaths, type TlsTexts } from './tls-files.ts';

/** A checked set of certificate, key and client CA. */
export interface TlsMaterial {
  /** For `tls.createSecureContext`; holds the key. */
  readonly context: SecureContextOptions;
  /** The subject of the server's certificate, on one line. */
  readonly subject: string;
  /** When the server's certificate expires, in the form of the certificate. */
  readonly validTo: string;
  /** Reasons why clients will reject the certificate, or why their certificates will be rejected, such as expiry. */
  readonly warnings: readonly string[];
}

/** The ciphers of TLS 1.3, and the ciphers of TLS 1.2 that HTTP/2 does not prohibit (RFC 9113, appendix A). */
const CIPHERS = [
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'TLS_AES_128_GCM_SHA256',
  'ECDHE+AESGCM',
  'ECDHE+CHACHA20',
].join(':');

/**
 * Parses and checks the contents of the files at `paths`. Key and certificate may be in the same file. Blocks of other
 * kinds are skipped, as in other servers.
 *
 * @throws TlsFault if a certificate or the key is missing or damaged, or if certificate and key are not a pair
 */
export function checkTlsMaterial(texts: TlsTexts, paths: TlsPaths, nowMs: number): TlsMaterial {
  const chain = certificatesOf('certificate', texts.certificate, paths.certificate);
  const [leaf] = chain;
  const key = privateKeyOf(texts.key, paths.key);
  if (!leaf.checkPrivateKey(key)) {
    throw new TlsFault(
      `${TLS_SETTINGS.key}: the key in '${paths.key}' does not belong to the first certificate in '${paths.certificate}'; name a pair in ${TLS_SETTINGS.key} and ${TLS_SETTINGS.certificate}`,
    );
  }
  const roots = clientRootsOf(texts, paths);
  const context = contextOptions({ chain, key, roots });
  try {
    process.getBuiltinModule('node:tls').createSecureContext(context);
  } catch (cause) {
    const text = `${TLS_SETTINGS.certificate}: TLS cannot be served with '${paths.certificate}' and '${paths.key}' (${asError(cause).message}); use a certificate with a stronger key`;
    throw new TlsFault(text, { cause });
  }
  return {
    context,
    subject: leaf.subject.replaceAll('\n', ', '),
    validTo: leaf.validTo,
    warnings: [
      ...leafWarnings(leaf, paths.certificate, nowMs),
      ...rootWarnings(roots, paths.clientCa ?? '', nowMs),
    ],
  };
}

interface Parts {
  readonly chain: readonly X509Certificate[];
  readonly key: KeyObject;
  readonly roots: readonly X509Certificate[] | null;
}

function contextOptions({ chain, key, roots }: Parts): SecureContextOptions {
  // A resumed session does not send its certificate again, so it would outlive a replacement of the CA.
  const noResumption = roots === null ? 0 : constants.SSL_OP_NO_TICKET;
  return {
    cert: chain.map(String).join(''),
    key: key.export({ type: 'pkcs8', format: 'pem' }),
    // With its own CA, a context does not trust the CAs of the system.
    ...(roots !== null && { ca: roots.map(String) }),
    minVersion: 'TLSv1.2',
    ciphers: CIPHERS,
    // RFC 9113, 9.2.1: renegotiation must be disabled.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION | noResumption,
  };
}

/** Parses the certificates of a file; at least one. */
function certificatesOf(part: keyof TlsPaths, text: string, path: string): X509Certificate[] {
  const place = `${TLS_SETTINGS[part]}: '${path}'`;
  const blocks = pemBlocks(text).filter(({ label }) => label === 'CERTIFICATE');
  if (blocks.length === 0) {
    throw new TlsFault(
      `${place} holds no certificate in PEM form; it must hold a block that begins with -----BEGIN CERTIFICATE-----`,
    );
  }
  return blocks.map((block, index) => {
    try {
      return new X509Certificate(block.text);
    } catch (cause) {
      const text = `${place}: certificate ${index + 1} of ${blocks.length} is damaged (${asError(cause).message}); copy the file again`;
      throw new TlsFault(text, { cause });
    }
  });
}

function privateKeyOf(text: string, path: string): KeyObject {
  const place = `${TLS_SETTINGS.key}: '${path}'`;
  const block = pemBlocks(text).find(
    ({ label }) => label === 'PRIVATE KEY' || label.endsWith(' PRIVATE KEY'),
  );
  if (block === undefined) {
    throw new TlsFault(
      `${place} holds no private key in PEM form; it must hold a block that begins with -----BEGIN PRIVATE KEY-----`,
    );
  }
  if (block.label === 'ENCRYPTED PRIVATE KEY' || /^Proc-Type: .*ENCRYPTED/m.test(block.text)) {
    throw new TlsFault(
      `${place} is protected by a passphrase; store the key without one, readable for this process only`,
    );
  }
  try {
    return createPrivateKey(block.text);
  } catch (cause) {
    throw new TlsFault(`${place}: the private key is damaged; copy the file again`, { cause });
  }
}

function clientRootsOf(texts: TlsTexts, paths: TlsPaths): X509Certificate[] | null {
  if (texts.clientCa === null || paths.clientCa === null) return null;
  const certificates = certificatesOf('clientCa', texts.clientCa, paths.clientCa);
  // Node.js trusts only chains that end in a root. With an intermediate CA alone, every client would be rejected.
  if (!certificates.some(certificate => certificate.checkIssued(certificate))) {
    throw new TlsFault(
      `${TLS_SETTINGS.clientCa}: '${paths.clientCa}' holds no root certificate; add the one that signed ${certificates[0].subject.replaceAll('\n', ', ')}`,
    );
  }
  return certificates;
}

function leafWarnings(leaf: X509Certificate, path: string, nowMs: number): string[] {
  const place = `the TLS certificate in '${path}' (${TLS_SETTINGS.certificate})`;
  if (hasEnded(leaf, nowMs)) return [`${place} expired at ${leaf.validTo}: clients will refuse it; renew it`];
  if (Date.parse(leaf.validFrom) <= nowMs) return [];
  return [
    `${place} is valid only from ${leaf.validFrom} on: clients will refuse it; check the clock of this machine`,
  ];
}

function rootWarnings(roots: readonly X509Certificate[] | null, path: string, nowMs: number): string[] {
  if (roots === null || !roots.every(root => hasEnded(root, nowMs))) return [];
  return [
    `every CA certificate in '${path}' (${TLS_SETTINGS.clientCa}) has expired: all clients will be refused; renew them`,
  ];
}

function hasEnded(certificate: X509Certificate, nowMs: number): boolean {
  return Date.parse(certificate.validTo) < nowMs;
}

/** One block of a PEM file (RFC 7468). */
interface PemBlock {
  /** `CERTIFICATE`, `PRIVATE KEY`, … */
  readonly label: string;
  /** The whole block, including its first and last line. */
  readonly text: string;
}

/**
 * Returns the blocks of a text in order. Text between blocks is skipped, and so is everything from a block without end.
 */
function pemBlocks(text: string): PemBlock[] {
  const blocks: PemBlock[] = [];
  const begin = /-----BEGIN ([A-Z0-9 ]{1,64})-----/g;
  for (let match = begin.exec(text); match !== null; match = begin.exec(text)) {
    const last = `-----END ${match[1]}-----`;
    const end = text.indexOf(last, begin.lastIndex);
    if (end === -1) break;
    begin.lastIndex = end + last.length;
    blocks.push({ label: match[1], text: text.slice(match.index, begin.lastIndex) });
  }
  return blocks;
}
