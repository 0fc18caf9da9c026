import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { Child } from './child-process.ts';
import { freePort } from './free-port.ts';
import { type RedisServer, startRedis } from './redis-server.ts';
import type { Teardown } from './stores.ts';
import { makeTempDirectory, removeDirectory } from './temp-directory.ts';

/** Longest wait for it to start or to stop. */
const PATIENCE_MS = 10_000;

/** The name under which the master is known. */
export const MASTER_NAME = 'limits';

/** A real sentinel that watches one master, and decides alone. */
export class RedisSentinel {
  readonly port: number;
  readonly #directory: string;
  readonly #child: Child;
  readonly #password: string;

  constructor(port: number, masterPort: number, password: string) {
    this.port = port;
    this.#password = password;
    this.#directory = makeTempDirectory();
    const file = join(this.#directory, 'sentinel.conf');
    const lines = [
      `port ${port}`,
      'bind 127.0.0.1',
      `dir ${this.#directory}`,
      ...(password === '' ? [] : [`requirepass ${password}`]),
      `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${masterPort} 1`,
      `sentinel down-after-milliseconds ${MASTER_NAME} 1000`,
      `sentinel failover-timeout ${MASTER_NAME} 5000`,
    ];
    writeFileSync(file, `${lines.join('\n')}\n`);
    this.#child = new Child({ command: 'redis-server', args: [file, '--sentinel'], env: process.env });
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  async watching(): Promise<void> {
    await this.#child.line(line => (line.includes('+monitor master') ? true : undefined), PATIENCE_MS);
  }

  /** Resolves when it knows of a replica that can become master. */
  async knowsReplica(): Promise<void> {
    for (;;) {
      const replicas = (await this.command('SENTINEL', 'REPLICAS', MASTER_NAME)) as string[][];
      if (replicas.some(fields => fields[fields.indexOf('flags') + 1] === 'slave')) return;
    }
  }

  /** Sends one command over a connection of its own. */
  async command(name: string, ...args: string[]): Promise<unknown> {
    const client = new Redis({
      host: '127.0.0.1',
      port: this.port,
      lazyConnect: true,
      maxRetriesPerRequest: 0,
      retryStrategy: () => null,
      ...(this.#password === '' ? {} : { password: this.#password }),
    });
    client.on('error', () => {});
    try {
      await client.connect();
      return await client.call(name, ...args);
    } finally {
      if (client.status !== 'end') client.disconnect();
    }
  }

  async stop(): Promise<void> {
    await this.#child.end('SIGTERM', PATIENCE_MS);
    removeDirectory(this.#directory);
  }
}

/** Starts a sentinel for the master at this port of loopback. */
export async function startSentinel(masterPort: number, password = ''): Promise<RedisSentinel> {
  const sentinel = new RedisSentinel(await freePort(), masterPort, password);
  try {
    await sentinel.watching();
    return sentinel;
  } catch (failure) {
    await sentinel.stop();
    throw failure;
  }
}

/** A master, its replica, and a sentinel that watches them. They end with the test. */
export async function startWatchedMaster(t: Teardown): Promise<{
  readonly master: RedisServer;
  readonly replica: RedisServer;
  readonly sentinel: RedisSentinel;
}> {
  const master = await startRedis();
  t.teardown(() => master.stop());
  const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(master.port)] });
  t.teardown(() => replica.stop());
  // A sentinel asks who the replicas are when it starts, and then after ten seconds.
  while (!/connected_slaves:1/.test(String(await master.command('INFO', 'replication'))));
  const sentinel = await startSentinel(master.port);
  t.teardown(() => sentinel.stop());
  await sentinel.knowsReplica();
  return { master, replica, sentinel };
}
