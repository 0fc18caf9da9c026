import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import type { DeliveryRequest } from '../../src/tasks/delivery/delivery.ts';
import { type DeliverySetup, LocalDeliveries } from '../../src/tasks/delivery/delivery-thread.ts';
import { type Resolve, systemResolve } from '../../src/tasks/delivery/host-addresses.ts';
import { DEFAULT_RETRY_POLICY } from '../../src/tasks/model/retry-policy.ts';
import type { Task } from '../../src/tasks/model/task.ts';
import { NO_CONTENT } from '../../src/tasks/model/task-content.ts';

/** The part of a tap test that is needed. */
interface Teardown {
  teardown(run: () => unknown): void;
}

/** A request as it came over the wire. */
export interface PushedRequest {
  /** `POST /tasks HTTP/1.1` */
  readonly line: string;
  /** Names in lower case, as they came; of several with one name all. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly body: string;
  /** The same as it came. */
  readonly bytes: Buffer;
  /** From 1: the connection that it came over. */
  readonly connection: number;
}

export type PushAnswer = (socket: Socket, request: PushedRequest) => void;

/** The value of a header; undefined when it was not sent. */
export function headerOf({ fields }: PushedRequest, name: string): string | undefined {
  return fields.find(([other]) => other === name)?.[1];
}

/** An answer in one piece. */
export function reply(
  status: number,
  fields: Readonly<Record<string, string>> = {},
  body: string | Buffer = '',
) {
  return (socket: Socket): void => {
    const head = Object.entries({ ...fields, 'content-length': String(Buffer.byteLength(body)) });
    socket.write(`HTTP/1.1 ${status} Status\r\n${head.map(([n, v]) => `${n}: ${v}\r\n`).join('')}\r\n`);
    socket.write(body);
  };
}

/** A worker that tasks are pushed to: it reads whole requests and answers each as it is told, byte by byte. */
export class PushWorker {
  /** What came, in order. */
  readonly requests: PushedRequest[] = [];
  /** Sockets that were opened, closed ones as well. */
  readonly sockets: Socket[] = [];
  readonly #server: Server;
  readonly #secure: boolean;
  #answer: PushAnswer;
  #requested: (() => void)[] = [];
  #closed: (() => void)[] = [];

  /** Without `tls` it speaks plainly. Whoever makes it starts it and stops it; {@link startPushWorker} does both. */
  constructor(answer: PushAnswer, tls?: TlsOptions) {
    this.#answer = answer;
    this.#secure = tls !== undefined;
    this.#server = tls === undefined ? createServer() : createTlsServer(tls);
    // With TLS `connection` is the bare one, whose handshake may never end.
    this.#server.on('connection', (socket: Socket) => this.#opened(socket));
    this.#server.on(this.#secure ? 'secureConnection' : 'connection', (socket: Socket) => this.#read(socket));
    this.#server.on('tlsClientError', () => {});
  }

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  url(path = '/tasks', host = '127.0.0.1'): string {
    return `${this.#secure ? 'https' : 'http'}://${host}:${this.port}${path}`;
  }

  set answer(answer: PushAnswer) {
    this.#answer = answer;
  }

  /** How many connections are open. */
  get open(): number {
    return this.sockets.filter(socket => !socket.destroyed).length;
  }

  /** Resolves when so many requests have come in all. */
  async received(count: number): Promise<void> {
    while (this.requests.length < count) await new Promise<void>(resolve => this.#requested.push(resolve));
  }

  /** Resolves when so many connections are open, and no more. */
  async openAre(count: number): Promise<void> {
    while (this.open !== count) await new Promise<void>(resolve => this.#closed.push(resolve));
  }

  #opened(socket: Socket): void {
    this.sockets.push(socket);
    socket.setNoDelay(true);
    socket.on('error', () => {});
    socket.on('close', () => this.#tell());
    this.#tell();
  }

  #tell(): void {
    const waiters = this.#closed;
    this.#closed = [];
    for (const resolve of waiters) resolve();
  }

  #read(socket: Socket): void {
    const connection = this.sockets.length;
    socket.on('error', () => {});
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
      for (;;) {
        const end = text.indexOf('\r\n\r\n');
        if (end < 0) return;
        const [line, ...lines] = text.slice(0, end).split('\r\n');
        const fields = lines.map(field => {
          const at = field.indexOf(': ');
          return [field.slice(0, at).toLowerCase(), field.slice(at + 2)] as const;
        });
        const length = Number(fields.find(([name]) => name === 'content-length')?.[1] ?? 0);
        if (text.length < end + 4 + length) return;
        const bytes = Buffer.from(text.slice(end + 4, end + 4 + length), 'latin1');
        text = text.slice(end + 4 + length);
        const request = { line, fields, body: bytes.toString('utf8'), bytes, connection };
        this.requests.push(request);
        this.#answer(socket, request);
        const waiters = this.#requested;
        this.#requested = [];
        for (const resolve of waiters) resolve();
      }
    });
  }
}

export async function startPushWorker(
  t: Teardown,
  answer: PushAnswer,
  tls?: TlsOptions,
): Promise<PushWorker> {
  const worker = new PushWorker(answer, tls);
  await worker.start();
  t.teardown(() => worker.stop());
  return worker;
}

/** Deliveries may go to loopback, which is where the workers of tests are. */
export const LOOPBACK_SETUP: DeliverySetup = {
  capacity: 16,
  networks: ['127.0.0.0/8'],
  ports: [],
  allowHttp: true,
  userAgent: 'sluice',
  ca: null,
};

/** Deliveries from this thread, stopped with the test. */
export function localDeliveries(
  t: Teardown,
  but: Partial<DeliverySetup> & { readonly resolve?: Resolve; readonly clock?: Clock } = {},
): LocalDeliveries {
  const { resolve = systemResolve, clock = systemClock, ...setup } = but;
  const deliveries = new LocalDeliveries({ ...LOOPBACK_SETUP, ...setup }, resolve, clock);
  t.teardown(() => deliveries.stop());
  return deliveries;
}

export const TASK: Task = {
  id: 'tsk_01JQ0000000000000000000000',
  workerId: 'wrk_01JQ0000000000000000000000',
  worker: 'mailer',
  ...NO_CONTENT,
  type: 'email.welcome',
  status: 'running',
  priority: 'normal',
  runAt: 1_767_225_600_000,
  dueAt: null,
  expiresAt: null,
  timeoutMs: 30_000,
  retry: DEFAULT_RETRY_POLICY,
  attempt: 3,
  deferrals: 0,
  key: null,
  keyTtlMs: 0,
  lastError: null,
  cancelRequestedAt: null,
  group: null,
  scheduleId: null,
  scheduledFor: null,
  heldBy: null,
  onFinish: null,
  createdBy: { type: 'user', id: 'usr_01JQ0000000000000000000000' },
  createdAt: 1_767_225_600_000,
  updatedAt: 1_767_225_600_000,
  startedAt: 1_767_225_600_000,
  finishedAt: null,
  version: 2,
};

/** An attempt to push {@link TASK} to this URL. */
export function pushTo(
  url: string,
  but: Partial<DeliveryRequest> & { readonly timeoutMs?: number } = {},
): DeliveryRequest {
  const { timeoutMs = TASK.timeoutMs, ...fields } = but;
  return {
    tenant: 'acme',
    task: { ...TASK, timeoutMs },
    payload: '{"to":"ada@example.com"}',
    headers: {},
    worker: { name: 'mailer', url, method: 'POST', headers: {} },
    signing: [],
    secretHeaders: {},
    trace: null,
    ...fields,
  };
}
