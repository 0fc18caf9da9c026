import { createSocket, type Socket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { systemCode } from '../../base/fault.ts';
import type { LineOutput } from './line-output.ts';

/** Maximum payload of a packet: fits into an Ethernet frame with room for tunnel headers. */
const MAX_PACKET_BYTES = 1_432;

interface UdpOutputOptions {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** IP version; 0: either. */
  readonly family: 0 | 4 | 6;
}

interface Target {
  readonly address: string;
  readonly family: number;
  readonly socket: Socket;
}

/**
 * Sends lines in UDP packets, with as many lines per packet as fit. UDP does not report whether anybody receives them.
 */
export class UdpOutput implements LineOutput {
  readonly name: string;
  readonly #options: UdpOutputOptions;
  #target: Target | null = null;
  #closed = false;

  constructor(options: UdpOutputOptions) {
    this.name = options.name;
    this.#options = options;
  }

  open(): void {}

  /** Resolves the host name for each flush, because the address of a receiver may change. */
  async ready(): Promise<void> {
    const { host, family: wanted } = this.#options;
    const { address, family } = await lookup(host, { family: wanted, order: 'ipv4first' });
    if (this.#closed) throw new Error('closed');
    if (this.#target?.family === family) this.#target = { ...this.#target, address };
    else {
      this.#target?.socket.close();
      this.#target = { address, family, socket: openSocket(family) };
    }
  }

  async write(lines: string): Promise<void> {
    const target = this.#target;
    if (target === null) throw new Error('closed');
    const sent = await Promise.allSettled(packets(lines).map(packet => this.#send(packet, target)));
    const failed = sent.find(outcome => outcome.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  async end(): Promise<void> {}

  close(): void {
    this.#closed = true;
    this.#target?.socket.close();
    this.#target = null;
  }

  #send(packet: string, { socket, address }: Target): Promise<void> {
    return new Promise((resolve, reject) => {
      socket.send(packet, this.#options.port, address, failure => {
        if (failure === null) resolve();
        else reject(new Error(`could not send a packet: ${systemCode(failure)}`, { cause: failure }));
      });
    });
  }
}

function openSocket(family: number): Socket {
  const socket = createSocket(family === 6 ? 'udp6' : 'udp4');
  // Each `send` gets its own failure. Without a listener, the error event would end the process.
  socket.on('error', () => {});
  socket.unref();
  return socket;
}

/** Joins whole lines into packets. A line that is longer than a packet gets its own packet. */
function packets(lines: string): string[] {
  const made: string[] = [];
  let packet = '';
  let bytes = 0;
  for (let from = 0; from < lines.length; ) {
    const to = lines.indexOf('\n', from) + 1 || lines.length;
    const line = lines.slice(from, to);
    const size = Buffer.byteLength(line);
    if (bytes + size > MAX_PACKET_BYTES && packet !== '') {
      made.push(packet);
      packet = '';
      bytes = 0;
    }
    packet += line;
    bytes += size;
    from = to;
  }
  if (packet !== '') made.push(packet);
  return made;
}
