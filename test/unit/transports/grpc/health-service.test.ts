import { join } from 'node:path';
import {
  type ClientReadableStream,
  credentials,
  loadPackageDefinition,
  type ServiceError,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import t, { type Test } from 'tap';
import { createLogger } from '../../../../src/app/logging/logging.ts';
import { Health } from '../../../../src/base/health.ts';
import { GRPC_STATUS } from '../../../../src/grpc/service.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import { healthService } from '../../../../src/transports/grpc/health-service.ts';
import { measuredService } from '../../../../src/transports/grpc/interceptors.ts';
import { type MakeGrpcServer, PLAIN_OPTIONS } from '../../../exam/grpc-examinee.ts';
import { GrpcClient } from '../../../support/grpc-client.ts';
import { repositoryRoot } from '../../../support/repository.ts';
import { ENGINES } from './tls-setup.ts';

const FULL_NAME = 'envoy.service.ratelimit.v3.RateLimitService';

type Status = { status: string };
type StatusCallback = (error: ServiceError | null, response: Status) => void;
type ListCallback = (error: ServiceError | null, response: { statuses: Record<string, Status> }) => void;

/** The client that `@grpc/proto-loader` makes of the published protocol: an encoder and decoder that are not ours. */
interface HealthStub {
  Check(request: { service: string }, callback: StatusCallback): void;
  List(request: object, callback: ListCallback): void;
  Watch(request: { service: string }): ClientReadableStream<Status>;
  close(): void;
}

class HealthClient {
  readonly stub: HealthStub;

  constructor(port: number) {
    const root = loadPackageDefinition(
      loadSync(join(repositoryRoot(), 'proto/grpc/health/v1/health.proto'), {
        enums: String,
        defaults: true,
      }),
    );
    const { Health } = (root as unknown as { grpc: { health: { v1: Record<string, StubClass> } } }).grpc
      .health.v1;
    this.stub = new Health(`127.0.0.1:${port}`, credentials.createInsecure());
  }

  /** The status, or the error's code and text. */
  check(service: string): Promise<string> {
    return new Promise(resolve => {
      this.stub.Check({ service }, (error, response) => {
        resolve(error === null ? response.status : `${error.code}: ${error.details}`);
      });
    });
  }

  list(): Promise<Record<string, Status>> {
    return new Promise((resolve, reject) => {
      this.stub.List({}, (error, response) => (error === null ? resolve(response.statuses) : reject(error)));
    });
  }

  watch(service: string): { next(): Promise<string>; cancel(): void } {
    const call = this.stub.Watch({ service });
    const messages = call[Symbol.asyncIterator]();
    call.on('error', () => {});
    return { next: async () => (await messages.next()).value.status, cancel: () => call.cancel() };
  }
}

type StubClass = new (target: string, credentials: unknown) => HealthStub;

async function serve(t: Test, makeServer: MakeGrpcServer) {
  const health = new Health();
  health.set('store', true);
  const stats = new StatsRegistry();
  const server = makeServer({
    ...PLAIN_OPTIONS,
    service: measuredService(healthService(health), { stats, nowMs: () => 0 }),
    logger: createLogger({ level: 'panic', format: 'text' }),
  });
  await server.start();
  const client = new HealthClient((server.address as { port: number }).port);
  const raw = new GrpcClient(server.address);
  t.teardown(async () => {
    client.stub.close();
    raw.close();
    await server.stop();
  });
  return { health, stats, server, client, raw };
}

// Both servers carry the service.
for (const [name, makeServer] of Object.entries(ENGINES)) {
  t.test(
    `both names of the service report the real state; the empty name is always SERVING, on ${name}`,
    async t => {
      const { health, client } = await serve(t, makeServer);
      for (const [healthy, state] of [
        [true, 'SERVING'],
        [false, 'NOT_SERVING'],
        [true, 'SERVING'],
      ] as const) {
        health.set('store', healthy);
        t.equal(await client.check('ratelimit'), state);
        t.equal(await client.check(FULL_NAME), state);
        t.equal(await client.check(''), 'SERVING');
      }
    },
  );

  t.test(`an unknown name is NOT_FOUND with the names that are known, on ${name}`, async t => {
    const { client } = await serve(t, makeServer);
    t.equal(
      await client.check('rate"limit'),
      `5: unknown service "rate\\"limit"; known services: "ratelimit", "${FULL_NAME}", and the empty name for the process itself`,
    );
    t.match(
      await client.check('x'.repeat(10_000)),
      /^5: unknown service "x{100}";/,
      'a long name is not echoed whole',
    );
  });

  t.test(`List reports the state under every name, on ${name}`, async t => {
    const { health, client } = await serve(t, makeServer);
    health.set('store', false);
    t.strictSame(JSON.parse(JSON.stringify(await client.list())), {
      '': { status: 'SERVING' },
      ratelimit: { status: 'NOT_SERVING' },
      [FULL_NAME]: { status: 'NOT_SERVING' },
    });
  });

  t.test(
    `Watch sends the current state immediately, then every change, until its caller disconnects, on ${name}`,
    async t => {
      const { health, client } = await serve(t, makeServer);
      const watch = client.watch('ratelimit');
      const alsoWatching = client.watch(FULL_NAME);
      t.equal(await watch.next(), 'SERVING');
      t.equal(await alsoWatching.next(), 'SERVING');
      health.set('store', false);
      t.equal(await watch.next(), 'NOT_SERVING');
      health.set('another', false);
      health.set('another', true);
      health.set('store', true);
      t.equal(await watch.next(), 'SERVING', 'only changes of the overall state are sent');
      watch.cancel();
      t.equal(await alsoWatching.next(), 'NOT_SERVING');
      t.equal(await alsoWatching.next(), 'SERVING');
    },
  );

  t.test(`Watch of an unknown name sends SERVICE_UNKNOWN, of the empty name SERVING, on ${name}`, async t => {
    const { health, client } = await serve(t, makeServer);
    t.equal(await client.watch('another').next(), 'SERVICE_UNKNOWN');
    health.set('store', false);
    t.equal(await client.watch('').next(), 'SERVING');
  });

  t.test(`a stop ends the watches, on ${name}`, async t => {
    const { server, raw } = await serve(t, makeServer);
    const watch = raw.stream('/grpc.health.v1.Health/Watch');
    await watch.next();
    await server.stop();
    t.equal((await watch.status).code, GRPC_STATUS.unavailable);
  });

  t.test(`bytes that are no message are INTERNAL in every method, on ${name}`, async t => {
    const { raw } = await serve(t, makeServer);
    // A text of five bytes of which one is there; a text that is not UTF-8.
    for (const garbage of [Buffer.from([0x0a, 5, 65]), Buffer.from([0x0a, 1, 0xff])]) {
      t.match(await raw.unary('/grpc.health.v1.Health/Check', garbage), {
        status: 13,
        message: /not a .*at byte \d/,
      });
      t.match(await raw.stream('/grpc.health.v1.Health/Watch', garbage).status, {
        code: 13,
        details: /at byte \d/,
      });
    }
    t.match(await raw.unary('/grpc.health.v1.Health/List', Buffer.from([0x0a, 5, 65])), { status: 13 });
  });

  t.test(`Check and List count in the statistics, Watch does not, on ${name}`, async t => {
    const { stats, client } = await serve(t, makeServer);
    await client.check('ratelimit');
    await client.check('unknown');
    await client.list();
    await client.watch('ratelimit').next();
    t.strictSame(Object.fromEntries(stats.counters()), {
      'ratelimit_server.Check.total_requests': 2,
      'ratelimit_server.List.total_requests': 1,
    });
    t.equal(stats.timers().get('ratelimit_server.Check.response_time')?.count, 2);
    t.notOk(stats.timers().has('ratelimit_server.Watch.response_time'));
  });
}

t.test('open watches are bounded, and one that closes makes room', async t => {
  const watch = healthService(new Health()).serverStreaming.get('/grpc.health.v1.Health/Watch')!;
  const closeFirst: (() => void)[] = [];
  const open = (onClose: (listener: () => void) => void = () => {}): number | null => {
    let ended: number | null = null;
    watch(Buffer.alloc(0), {
      peer: '',
      send: () => {},
      end: status => {
        ended = status;
      },
      onClose,
    });
    return ended;
  };
  t.equal(
    open(listener => closeFirst.push(listener)),
    null,
  );
  for (let opened = 1; opened < 10_000; opened++) open();
  t.equal(open(), GRPC_STATUS.resourceExhausted);
  for (const close of closeFirst) close();
  t.equal(open(), null);
  t.equal(open(), GRPC_STATUS.resourceExhausted);
});
