import { connect, type Socket } from 'node:net';
import { AnswerScanner } from './answer-scanner.ts';
import type { HttpFloodKind } from './http-kinds.ts';

/** Bytes that may wait in the socket. */
const MOST_WAITING = 262_144;

/** One connection that sends one kind of flood, and comes back whenever it is closed. */
export class HttpFlooder {
  readonly #port: number;
  readonly #kind: HttpFloodKind;
  #socket: Socket | null = null;
  #ends = false;
  /** Times that the server ended the connection. */
  ended = 0;
  /** Answers that have come; of pipelined ones those that begin with a read. */
  answered = 0;

  constructor(port: number, kind: HttpFloodKind) {
    this.#port = port;
    this.#kind = kind;
    this.#connect();
  }

  stop(): void {
    this.#ends = true;
    this.#socket?.destroy();
  }

  #connect(): void {
    if (this.#ends) return;
    const { pace } = this.#kind;
    const socket = connect({ port: this.#port, host: '127.0.0.1', noDelay: true });
    this.#socket = socket;
    let isOurEnd = false;
    socket.once('connect', () => this.#send(socket));
    if (pace === 'full') socket.on('data', () => this.answered++);
    else if (pace !== 'unread') {
      const scanner = new AnswerScanner(() => {
        this.answered++;
        isOurEnd = pace === 'new';
        if (isOurEnd) socket.destroy();
        else this.#send(socket);
      });
      socket.on('data', chunk => scanner.read(chunk));
    }
    socket.on('drain', () => {
      if (pace === 'full' || pace === 'unread') this.#send(socket);
    });
    socket.on('error', () => {});
    socket.once('close', () => {
      if (!isOurEnd) this.ended++;
      setTimeout(() => this.#connect(), 1);
    });
  }

  #send(socket: Socket): void {
    const { pace, each } = this.#kind;
    if (pace === 'one' || pace === 'new') socket.write(each());
    else while (socket.writable && socket.writableLength < MOST_WAITING) socket.write(each());
  }
}
