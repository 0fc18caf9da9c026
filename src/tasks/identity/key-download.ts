import { createSecureContext, type SecureContext } from 'node:tls';
import { Agent, request } from 'undici';
import type { Clock } from '../../base/clock.ts';
import { trustedCas } from '../../base/tls/trusted-cas.ts';

const MAX_BYTES = 256 * 1024;
const MAX_HEAD_BYTES = 16 * 1024;
/** From the look-up of the name to the last byte. */
const TIMEOUT_MS = 5_000;

/**
 * Downloads the keys of an identity provider. The operator has chosen the URL, so private addresses are allowed, unlike
 * for the URLs of tenants. Redirects are not followed.
 */
export class KeyDownload {
  readonly #url: string;
  readonly #clock: Clock;
  readonly #running = new Set<AbortController>();
  #secureContext: SecureContext | null = null;
  #stopped = false;

  constructor(url: string, clock: Clock) {
    this.#url = url;
    this.#clock = clock;
  }

  /** @throws (rejects with) Error if there is no complete answer with status 200 within 5 seconds */
  async read(): Promise<string> {
    const aborting = new AbortController();
    if (this.#stopped) aborting.abort(new Error('the service is shutting down'));
    const timer = this.#clock.after(TIMEOUT_MS, () =>
      aborting.abort(new Error(`no complete answer within ${TIMEOUT_MS} ms`)),
    );
    const agent = this.#agent();
    this.#running.add(aborting);
    try {
      const { statusCode, body } = await request(this.#url, {
        dispatcher: agent,
        signal: aborting.signal,
        headers: { accept: 'application/json' },
      });
      if (statusCode !== 200) throw new Error(`the answer has status ${statusCode}, not 200`);
      return await body.text();
    } finally {
      timer.cancel();
      this.#running.delete(aborting);
      await agent.destroy();
    }
  }

  stop(): void {
    this.#stopped = true;
    for (const aborting of this.#running) aborting.abort(new Error('the service is shutting down'));
  }

  #agent(): Agent {
    this.#secureContext ??= createSecureContext({ ca: trustedCas() });
    return new Agent({
      connect: { secureContext: this.#secureContext, timeout: TIMEOUT_MS },
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
      maxHeaderSize: MAX_HEAD_BYTES,
      maxResponseSize: MAX_BYTES,
    });
  }
}
