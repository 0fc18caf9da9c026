import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';

/** A certificate and its key, both PEM. */
export interface CertificatePair {
  readonly certificate: string;
  readonly key: string;
}

export interface CertificateSpec {
  /** The common name of the subject. */
  readonly subject: string;
  /** Subject alternative names: DNS names and IP addresses (`::1` only of IPv6). */
  readonly names?: readonly string[];
  /** Extended key usages; without it the certificate has none, which allows all. */
  readonly usage?: readonly ('server' | 'client')[];
  /** Days; default 2020-01-01 to 2099-12-31. */
  readonly from?: string;
  readonly to?: string;
  /** Default: new keys on P-256. */
  readonly keys?: KeyPair;
}

export interface KeyPair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

/** A certificate authority that lives for a test. */
export class Authority {
  /** The root certificate, or that of an intermediate authority. */
  readonly certificate: string;
  readonly key: string;
  readonly #name: Buffer;
  readonly #key: KeyObject;

  /** A root of this name; with `issuer` an intermediate authority below it. */
  constructor(
    name: string,
    issuer?: Authority,
    period: { readonly from?: string; readonly to?: string } = {},
  ) {
    this.#name = nameOf(name);
    const { publicKey, privateKey } = newKeys();
    this.#key = privateKey;
    this.key = pkcs8(privateKey);
    const made = { subject: this.#name, publicKey, extensions: [CA_EXTENSION], ...PERIOD, ...period };
    this.certificate = issuer === undefined ? this.#sign(made) : issuer.#sign(made);
  }

  issue(spec: CertificateSpec): CertificatePair {
    const { publicKey, privateKey } = spec.keys ?? newKeys();
    const extensions = [
      ...(spec.names === undefined ? [] : [alternativeNames(spec.names)]),
      ...(spec.usage === undefined ? [] : [extendedKeyUsage(spec.usage)]),
    ];
    const { from = PERIOD.from, to = PERIOD.to } = spec;
    const certificate = this.#sign({ subject: nameOf(spec.subject), publicKey, extensions, from, to });
    return { certificate, key: pkcs8(privateKey) };
  }

  #sign(certificate: Unsigned): string {
    return signed(certificate, { name: this.#name, key: this.#key });
  }
}

/** A certificate for a host name that is its own authority. */
export function selfSigned(hostName: string): CertificatePair {
  const { publicKey, privateKey } = newKeys();
  const name = nameOf(hostName);
  const extensions = [CA_EXTENSION, alternativeNames([hostName])];
  const certificate = signed({ subject: name, publicKey, extensions, ...PERIOD }, { name, key: privateKey });
  return { certificate, key: pkcs8(privateKey) };
}

// What follows writes DER (RFC 5280, 4.1), since Node.js reads certificates but makes none, and a program that does
// may be missing.

interface Unsigned {
  readonly subject: Buffer;
  readonly publicKey: KeyObject;
  readonly extensions: readonly Buffer[];
  readonly from: string;
  readonly to: string;
}

const PERIOD = { from: '2020-01-01', to: '2099-12-31' };

function newKeys(): KeyPair {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

function pkcs8(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

function signed(made: Unsigned, issuer: { readonly name: Buffer; readonly key: KeyObject }): string {
  const ecdsaWithSha256 = sequence(objectId('2a8648ce3d040302'));
  const toBeSigned = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.concat([Buffer.of(1), randomBytes(8)])),
    ecdsaWithSha256,
    issuer.name,
    sequence(generalizedTime(made.from), generalizedTime(made.to)),
    made.subject,
    made.publicKey.export({ type: 'spki', format: 'der' }),
    ...(made.extensions.length === 0 ? [] : [der(0xa3, sequence(...made.extensions))]),
  );
  const signature = sign('sha256', toBeSigned, issuer.key);
  const certificate = sequence(
    toBeSigned,
    ecdsaWithSha256,
    der(0x03, Buffer.concat([Buffer.of(0), signature])),
  );
  return pem('CERTIFICATE', certificate);
}

function nameOf(commonName: string): Buffer {
  return sequence(set(sequence(objectId('550403'), der(0x0c, Buffer.from(commonName)))));
}

/** The start of a day, UTC. */
function generalizedTime(day: string): Buffer {
  return der(0x18, Buffer.from(`${day.replaceAll('-', '')}000000Z`));
}

/** basicConstraints, critical: a CA. */
const CA_EXTENSION = sequence(
  objectId('551d13'),
  der(0x01, Buffer.of(0xff)),
  der(0x04, sequence(der(0x01, Buffer.of(0xff)))),
);

/** subjectAltName. */
function alternativeNames(names: readonly string[]): Buffer {
  return sequence(objectId('551d11'), der(0x04, sequence(...names.map(generalName))));
}

function generalName(name: string): Buffer {
  if (isIPv4(name)) return der(0x87, Buffer.from(name.split('.').map(Number)));
  if (!isIPv6(name)) return der(0x82, Buffer.from(name));
  if (name !== '::1') throw new Error(`of IPv6 only ::1 can be written, not ${name}`);
  return der(0x87, Buffer.concat([Buffer.alloc(15), Buffer.of(1)]));
}

const USAGES = { server: '2b06010505070301', client: '2b06010505070302' } as const;

/** extKeyUsage. */
function extendedKeyUsage(usages: readonly (keyof typeof USAGES)[]): Buffer {
  return sequence(objectId('551d25'), der(0x04, sequence(...usages.map(usage => objectId(USAGES[usage])))));
}

/** Tag, length in as few octets as it takes (X.690, 10.1), content. */
function der(tag: number, content: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([tag, ...lengthOctets(content.length)]), content]);
}

function lengthOctets(length: number): number[] {
  if (length < 0x80) return [length];
  if (length < 0x100) return [0x81, length];
  return [0x82, length >> 8, length & 0xff];
}

function sequence(...parts: Uint8Array[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function set(...parts: Uint8Array[]): Buffer {
  return der(0x31, Buffer.concat(parts));
}

/** An object identifier from its encoded content. */
function objectId(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'));
}

function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n');
}
