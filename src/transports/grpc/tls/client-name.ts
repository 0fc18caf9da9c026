import type { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';

/**
 * Whether a certificate is valid for `name`, a DNS name or an IP address, by its subject alternative names alone
 * (RFC 9525): the common name does not count, and a wildcard stands for one whole label, the first.
 */
export function isValidFor(certificate: X509Certificate, name: string): boolean {
  const plain = name.replace(/\.$/, '');
  if (isIP(plain) !== 0) return certificate.checkIP(plain) !== undefined;
  return certificate.checkHost(plain, { subject: 'never', partialWildcards: false }) !== undefined;
}
