import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';

/** A key pair of a provider. */
export interface ProviderKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
}

export const ISSUER = 'https://login.example.com/';
export const AUDIENCE = 'sluice-tasks';

/** What a token says beside the claims that every token needs; undefined takes one away. */
export type Claims = Readonly<Record<string, unknown>>;

/** An identity provider: keys, tokens signed with them, and an HTTP server on this machine that publishes the keys. */
export class IdentityProvider {
  /** What is published. */
  keys: JWK[] = [];
  /** In place of the keys. */
  answer: ((response: ServerResponse) => void) | null = null;
  /** Downloads so far. */
  downloads = 0;
  readonly #server: Server;
  readonly #nowMs: () => number;
  #made = 0;

  constructor(nowMs: () => number = Date.now) {
    this.#nowMs = nowMs;
    this.#server = createServer((_, response) => {
      this.downloads++;
      if (this.answer !== null) this.answer(response);
      else response.end(JSON.stringify({ keys: this.keys }));
    });
  }

  static async open(
    t: { teardown(run: () => unknown): void },
    nowMs?: () => number,
  ): Promise<IdentityProvider> {
    const provider = new IdentityProvider(nowMs);
    await new Promise<void>(resolve => provider.#server.listen(0, '127.0.0.1', resolve));
    t.teardown(() => provider.close());
    return provider;
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}/keys`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** A new key, published at once. */
  async addKey(alg = 'ES256'): Promise<ProviderKey> {
    const key = await makeKey(alg, `key-${++this.#made}`);
    this.keys.push(key.jwk);
    return key;
  }

  withdraw({ kid }: ProviderKey): void {
    this.keys = this.keys.filter(key => key.kid !== kid);
  }

  /** A token for `ann`, valid for an hour, with other claims where they are given. */
  token(key: ProviderKey, claims: Claims = {}, header: Claims = {}): Promise<string> {
    const nowSeconds = Math.floor(this.#nowMs() / 1_000);
    const all = { iss: ISSUER, aud: AUDIENCE, sub: 'ann', exp: nowSeconds + 3_600, ...claims };
    const protectedHeader = { alg: key.alg, kid: key.kid, ...header };
    return new SignJWT(all).setProtectedHeader(protectedHeader).sign(key.privateKey);
  }
}

/** A key pair that nobody publishes. */
export async function makeKey(alg: string, kid: string): Promise<ProviderKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' };
  return { kid, alg, privateKey, jwk };
}
