import { createSocket, type Socket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

/** A target of an SRV record. */
export interface SrvTarget {
  readonly name: string;
  readonly port: number;
}

const TYPE_SRV = 33;
const CLASS_IN = 1;
const SERVER_FAILURE = 2;
const NO_SUCH_NAME = 3;

/** A DNS server on loopback that knows the SRV records that a test gives it (RFC 1035, RFC 2782). */
export class DnsServer {
  /** Targets by the name of their record, in lower case. A name without an entry does not exist. */
  readonly records = new Map<string, readonly SrvTarget[]>();
  /** Answers every question with a failure of the server. */
  failing = false;
  /** Names that were asked for. */
  readonly asked: string[] = [];
  readonly #socket: Socket = createSocket('udp4');

  /** Its port of 127.0.0.1, once it has started. */
  get port(): number {
    return (this.#socket.address() as AddressInfo).port;
  }

  /** Whoever starts it stops it: `t.teardown(() => dns.stop())`. */
  async start(): Promise<void> {
    this.#socket.on('message', (question, from) => {
      this.#socket.send(this.#answer(question), from.port, from.address);
    });
    this.#socket.bind(0, '127.0.0.1');
    await once(this.#socket, 'listening');
  }

  stop(): void {
    this.#socket.close();
  }

  /** Asks this server for an SRV record, as the service asks the one of the system. */
  readonly lookUp = (name: string): Promise<SrvTarget[]> => {
    const resolver = new Resolver({ timeout: 10_000, tries: 1 });
    resolver.setServers([`127.0.0.1:${this.port}`]);
    return resolver.resolveSrv(name);
  };

  #answer(question: Buffer): Buffer {
    const { name, end } = readName(question, 12);
    this.asked.push(name);
    const targets = this.records.get(name.toLowerCase());
    const code = this.failing ? SERVER_FAILURE : targets === undefined ? NO_SUCH_NAME : 0;
    const records = code === 0 ? (targets ?? []).map(srvRecord) : [];
    const header = Buffer.from(question.subarray(0, 12));
    header.writeUInt16BE(0x8180 | code, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(records.length, 6);
    header.writeUInt32BE(0, 8);
    return Buffer.concat([header, question.subarray(12, end + 4), ...records]);
  }
}

/** The name at `start` and the place behind it; questions hold no compressed names. */
function readName(message: Buffer, start: number): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let at = start;
  while (message[at] !== 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + message[at]));
    at += 1 + message[at];
  }
  return { name: labels.join('.'), end: at + 1 };
}

/** A record for the name of the question, which stands at byte 12 of the message. */
function srvRecord({ name, port }: SrvTarget): Buffer {
  const labels = name.split('.').map(label => Buffer.concat([Buffer.of(label.length), Buffer.from(label)]));
  const data = Buffer.concat([Buffer.alloc(6), ...labels, Buffer.of(0)]);
  data.writeUInt16BE(port, 4);
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc00c, 0);
  head.writeUInt16BE(TYPE_SRV, 2);
  head.writeUInt16BE(CLASS_IN, 4);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}
