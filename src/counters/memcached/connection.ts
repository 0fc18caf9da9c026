import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Clock, Timer } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import type { ClientTls } from '../../base/tls/client-tls.ts';
import { type Exchange, ReplyFault, ReplyReader, VersionExchange } from './protocol.ts';

/** Where a node listens. */
export type NodeTarget = { readonly path: string } | { readonly host: string; readonly port: number };

export interface ConnectionOptions {
  readonly target: NodeTarget;
  /** Null for a connection in clear. */
  readonly tls: ClientTls | null;
  /** Bound of connecting, and of any time in which an answer is awaited and nothing comes. */
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/** Commands that may wait for their answers on one connection: beyond it more would only wait longer. */
const MAX_WAITING_COMMANDS = 500_000;

/**
 * One connection to memcached, from its opening to its close. Commands are sent without waiting for the answers to
 * those before, and memcached answers in their order: what is sent later sees what was sent before.
 *
 * This is a client of our own, of the four commands that counting takes, because none of the packages fits. `memcache`
 * 1.10 knows no unix sockets; its only bound of time closes a connection that is quiet, whether an answer is awaited or
 * not; and keys that could not be read look like keys that are not there, so a server that is away looks empty. `memjs`
 * 1.3 has no TLS and no command for several keys, and speaks the binary protocol, which memcached has deprecated.
 * `memcache-client` 1.0 takes neither an IPv6 address nor a unix socket, writes to standard output, and after a line that
 * it does not know gives answers to the wrong commands.
 */
export class MemcachedConnection {
  /** Resolves when it is closed, with the reason. */
  readonly closed: Promise<string>;
  readonly #options: ConnectionOptions;
  readonly #socket: Socket;
  readonly #reader: ReplyReader;
  readonly #waiting: Exchange[] = [];
  readonly #idle: (() => void)[] = [];
  readonly #close: (reason: string) => void;
  #commands = 0;
  #answered = false;
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
   * Resolves when memcached has answered.
   * @throws Error with the reason when it does not; the connection is closed then
   */
  async open(): Promise<void> {
    const answer = await new Promise<string>((resolve, reject) => {
      this.send([new VersionExchange(resolve, reason => reject(new Error(reason)))]);
    });
    if (answer.startsWith('VERSION')) return;
    const reason = `it answered \`${answer.slice(0, 50)}\` when it was asked for its version`;
    this.close(reason);
    throw new Error(reason);
  }

  /** Sends exchanges in one write. They fail at once when the connection is closed or too much waits on it. */
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

  /** Resolves when nothing waits for an answer; that is so on a closed connection too. */
  idle(): Promise<void> {
    if (this.#waiting.length === 0) return Promise.resolve();
    return new Promise(resolve => this.#idle.push(resolve));
  }

  /** Closes it at once; what waits for an answer fails. */
  close(reason = 'the service stops'): void {
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
    if (exchange === undefined) throw new ReplyFault(`it said \`${text.slice(0, 50)}\` without being asked`);
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

  /** Looks whether anything came in time. What came while this process was busy with other things is read first. */
  readonly #check = (): void => {
    this.#watch = null;
    setImmediate(() => {
      if (this.#waiting.length === 0 || this.#watch !== null || this.#reason !== '') return;
      const { clock, timeoutMs } = this.#options;
      const quietMs = Math.abs(clock.nowMs() - this.#progressMs);
      if (quietMs >= timeoutMs) this.#end(`no answer came within ${timeoutMs} ms`);
      else this.#watch = clock.after(timeoutMs - quietMs, this.#check);
    });
  };

  #end(cause: string): void {
    if (this.#reason !== '') return;
    // The server may refuse our certificate after the handshake, so it is over when the first answer has come.
    const reason = this.#answered ? cause : (this.#options.tls?.explain(cause) ?? cause);
    this.#reason = reason;
    this.#socket.destroy();
    this.#commands = 0;
    for (const exchange of this.#waiting.splice(0)) exchange.failed(reason);
    this.#becameIdle();
    this.#close(reason);
  }
}

const TOO_MANY = 'too many commands wait for its answers';

function openSocket({ target, tls }: ConnectionOptions): Socket {
  if (tls === null) return connectPlain(target);
  // A server behind one address with others chooses its certificate by the name; an IP address is none.
  const servername = 'host' in target && isIP(target.host) === 0 ? { servername: target.host } : {};
  return connectTls({ ...target, ...servername, ...tls.options });
}
