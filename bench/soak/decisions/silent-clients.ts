import { connect, type Socket } from 'node:net';
import { ByteWriter } from '../../../src/base/bytes.ts';
import { DEFAULT_LIMITS } from '../../../src/http2/connection/limits.ts';
import { PREFACE } from '../../../src/http2/connection/partial-input.ts';
import {
  LARGEST_WINDOW,
  SETTING,
  writeSettings,
  writeWindowUpdate,
} from '../../../src/http2/frame/control.ts';
import { CallNumbers } from '../../support/grpc-load/call-numbers.ts';
import { RequestFrames, type RequestTemplate } from '../../support/grpc-load/request-frames.ts';

const DEFAULT_WINDOW = 65_535;
const CALLS_A_WRITE = 100;
/** A client that was let send this many calls without reading has made its point. */
const MOST_FLOODING_CALLS = 1_000_000;

/**
 * `flooding`: windows are wide, so the answers are up to the socket; calls are sent as fast as they are taken, also
 * more at a time than the server grants. `stalling`: as many calls as it grants, whose answers wait for windows that
 * stay closed.
 */
type Kind = 'flooding' | 'stalling';

/** A client that never reads an answer. */
class SilentClient {
  readonly #socket: Socket;
  readonly #frames: RequestFrames;
  readonly #numbers = new CallNumbers();
  #nextStream = 1;
  #closed = false;

  readonly #mostCalls: number;

  constructor(port: number, template: RequestTemplate, kind: Kind) {
    this.#mostCalls = kind === 'flooding' ? MOST_FLOODING_CALLS : DEFAULT_LIMITS.maxStreams;
    this.#frames = new RequestFrames(template);
    this.#socket = connect({ port, host: '127.0.0.1' });
    this.#socket.pause();
    this.#socket.on('drain', () => this.#send());
    // To be cut off is what it asks for.
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => {
      this.#closed = true;
    });
    const out = new ByteWriter();
    out.copy(PREFACE, 0, PREFACE.length);
    writeSettings(out, [[SETTING.initialWindowSize, kind === 'flooding' ? LARGEST_WINDOW : 0]]);
    if (kind === 'flooding') writeWindowUpdate(out, 0, LARGEST_WINDOW - DEFAULT_WINDOW);
    this.#socket.write(out.take());
    this.#send();
  }

  get calls(): number {
    return this.#nextStream >> 1;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  leave(): void {
    this.#socket.destroy();
  }

  #send(): void {
    while (!this.#closed && this.calls < this.#mostCalls) {
      const frames = this.#frames;
      const size =
        frames.sizeOn(this.#nextStream) + (CALLS_A_WRITE - 1) * frames.sizeOn(this.#nextStream + 2);
      const out = Buffer.allocUnsafe(size);
      let at = 0;
      for (let i = 0; i < CALLS_A_WRITE; i++) {
        at = frames.write(out, at, this.#nextStream, this.#numbers.next());
        this.#nextStream += 2;
      }
      if (!this.#socket.write(out)) return;
    }
  }
}

/** A crowd of them, every other one of each kind. */
export class SilentClients {
  readonly #clients: SilentClient[];

  constructor(count: number, port: number, template: RequestTemplate) {
    this.#clients = Array.from(
      { length: count },
      (_, i) => new SilentClient(port, template, i % 2 === 0 ? 'flooding' : 'stalling'),
    );
  }

  /** Calls that they have sent or tried to send. */
  get calls(): number {
    return this.#clients.reduce((sum, client) => sum + client.calls, 0);
  }

  /** How many were cut off. */
  get closed(): number {
    return this.#clients.filter(client => client.isClosed).length;
  }

  leave(): void {
    for (const client of this.#clients) client.leave();
  }
}
