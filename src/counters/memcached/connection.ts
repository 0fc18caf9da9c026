import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Clock, Timer } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import type { ClientTls } from '../../base/tls/client-tls.ts';
import { type Exchange, ReplyFault, ReplyReader, VersionExchange } from './protocol.ts';

/** The address of a node. */
export type NodeTarget = { readonly path: string } | { readonly host: string; readonly port: number };

interface ConnectionOptions {
  readonly target: NodeTarget;
  /** Null for a connection without TLS. */
  readonly tls: ClientTls | null;
  /** Timeout for connecting, and for any period without data while a response is outstanding. */
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/** Maximum number of outstanding commands on one connection. */
const MAX_WAITING_COMMANDS = 500_000;

/**
 * One connection to memcached. Commands are pipelined, and memcached executes and answers them in order: a later command
 * sees the effects of earlier ones.
 *
 * This is a client for the few commands that counting needs, because no package fits. `memcache` 1.10 does not support
 * unix sockets; its only timeout closes idle connections; and keys that could not be read look like missing keys, so an
 * unavailable server looks empty. `memjs` 1.3 has no TLS and no command for several keys, and uses the binary protocol,
 * which memcached has deprecated. `memcache-client` 1.0 supports neither IPv6 addresses nor unix sockets, writes to
 * standard output, and assigns responses to the wrong commands after an unknown line.
 */
export class MemcachedConnection {
  /** Resolves with the reason when the connection is closed. */
  readonly closed: Promise<string>;
  readonly #options: ConnectionOptions;
  readonly #socket: Socket;
  readonly #reader: ReplyReader;
  readonly #waiting: Exchange[] = [];
  readonly #idle: (() => void)[] = [];
  readonly #close: (reason: string) => void;
  #commands = 0;
  #answered = false;
  #timedOut = false;
  #reason = '';
  #progressMs: number;
  #watch: Timer | null = null;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#progressMs = options.clock.nowMs();
    this.#reader = new ReplyReader({
      line: text => this.#line(text),
      value: (key, data) => this.#waiting[0]?.value(key, data),
    });
    const { promise, resolve } = Promise.withResolvers<string>();
    this.closed = promise;
    this.#close = resolve;
    this.#socket = openSocket(options);
    this.#socket.setNoDelay(true);
    this.#socket.on('data', chunk => this.#receive(chunk));
    this.#socket.on('error', failure => this.#end(failure.message));
    this.#socket.on('close', () => this.#end('the connection was closed'));
  }

  /**
   * Resolves when memcached has responded.
   * @throws Error with the reason if it does not respond; the connection is closed then
   */
  async open(): Promise<void> {
    const answer = await new Promise<string>((resolve, reject) => {
      this.send([new VersionExchange(resolve, reason => reject(new Error(reason)))]);
    });
    if (answer.startsWith('VERSION')) return;
    const reason = `it answered \`${answer.slice(0, 50)}\` to the command \`version\``;
    this.close(reason);
    throw new Error(reason);
  }

  /** Sends exchanges in one write. They fail at once if the connection is closed or has too many outstanding commands. */
  send(exchanges: readonly Exchange[]): void {
    let request = '';
    for (const exchange of exchanges) {
      if (this.#reason !== '') exchange.failed(this.#reason);
      else if (this.#commands + exchange.commands > MAX_WAITING_COMMANDS) exchange.failed(TOO_MANY);
      else {
        request += exchange.request;
        this.#commands += exchange.commands;
        this.#waiting.push(exchange);
      }
    }
    if (request === '') return;
    if (this.#watch === null) this.#progressMs = this.#options.clock.nowMs();
    this.#socket.write(request, 'latin1');
    this.#watch ??= this.#options.clock.after(this.#options.timeoutMs, this.#check);
  }

  /** Resolves when no response is outstanding, also because the connection is closed. */
  idle(): Promise<void> {
    if (this.#waiting.length === 0) return Promise.resolve();
    return new Promise(resolve => this.#idle.push(resolve));
  }

  /** Whether the connection was closed because a response did not come in time. */
  get timedOut(): boolean {
    return this.#timedOut;
  }

  /** Closes the connection at once. Outstanding exchanges fail. */
  close(reason = 'the service is shutting down'): void {
    this.#end(reason);
  }

  #receive(chunk: Buffer): void {
    this.#answered = true;
    this.#progressMs = this.#options.clock.nowMs();
    try {
      this.#reader.feed(chunk);
    } catch (failure) {
      this.#end(asError(failure).message);
    }
  }

  #line(text: string): void {
    const [exchange] = this.#waiting;
    if (exchange === undefined) throw new ReplyFault(`it sent \`${text.slice(0, 50)}\` without a request`);
    if (!exchange.line(text)) return;
    this.#waiting.shift();
    this.#commands -= exchange.commands;
    if (this.#waiting.length === 0) this.#becameIdle();
  }

  #becameIdle(): void {
    this.#watch?.cancel();
    this.#watch = null;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Checks the timeout, after data that arrived while this process was busy has been read. */
  readonly #check = (): void => {
    this.#watch = null;
    setImmediate(() => {
      if (this.#waiting.length === 0 || this.#watch !== null || this.#reason !== '') return;
      const { clock, timeoutMs } = this.#options;
      const quietMs = Math.abs(clock.nowMs() - this.#progressMs);
      if (quietMs >= timeoutMs) {
        this.#timedOut = true;
        this.#end(`no response within ${timeoutMs} ms`);
      } else this.#watch = clock.after(timeoutMs - quietMs, this.#check);
    });
  };

  #end(cause: string): void {
    if (this.#reason !== '') return;
    // With TLS 1.3, the server may reject the client certificate after the handshake, so until the first response.
    const reason = this.#answered ? cause : (this.#options.tls?.explain(cause) ?? cause);
    this.#reason = reason;
    this.#socket.destroy();
    this.#commands = 0;
    for (const exchange of this.#waiting.splice(0)) exchange.failed(reason);
    this.#becameIdle();
    this.#close(reason);
  }
}

const TOO_MANY = 'too many outstanding commands';

function openSocket({ target, tls }: ConnectionOptions): Socket {
  const options = tls?.options ?? null;
  if (options === null) return connectPlain(target);
  // Servers that share an address choose the certificate by SNI, which cannot be an IP address.
  const servername = 'host' in target && isIP(target.host) === 0 ? { servername: target.host } : {};
  return connectTls({ ...target, ...servername, ...options });
}
