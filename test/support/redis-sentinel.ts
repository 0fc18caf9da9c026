import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { commandAt, type RedisServer, redisFor } from './redis-server.ts';
import { during, ServerProcess } from './server-process.ts';
import type { Teardown } from './stores.ts';
import { until } from './until.ts';

/** The name under which the master is known. */
export const MASTER_NAME = 'limits';

/** A real sentinel that watches one master, and decides alone. */
export class RedisSentinel extends ServerProcess {
  readonly #file: string;
  readonly #password: string;

  constructor(port: number, masterPort: number, password: string) {
    super(port);
    this.#password = password;
    this.#file = join(this.directory, 'sentinel.conf');
    const lines = [
      `port ${port}`,
      'bind 127.0.0.1',
      `dir ${this.directory}`,
      ...(password === '' ? [] : [`requirepass ${password}`]),
      `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${masterPort} 1`,
      `sentinel down-after-milliseconds ${MASTER_NAME} 1000`,
      `sentinel failover-timeout ${MASTER_NAME} 5000`,
    ];
    writeFileSync(this.#file, `${lines.join('\n')}\n`);
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  protected program() {
    return { command: 'redis-server', args: [this.#file, '--sentinel'], ready: /\+monitor master/ };
  }

  /** Resolves when it knows of a replica that can become master. */
  async knowsReplica(): Promise<void> {
    await until(async () => {
      const replicas = (await this.command('SENTINEL', 'REPLICAS', MASTER_NAME)) as string[][];
      return replicas.some(fields => fields[fields.indexOf('flags') + 1] === 'slave');
    });
  }

  /** Sends one command over a connection of its own. */
  async command(name: string, ...args: string[]): Promise<unknown> {
    return await commandAt(this.port, this.#password === '' ? {} : { password: this.#password }, name, args);
  }
}

/** Starts a sentinel for the master at this port of loopback. Whoever starts it stops it. */
export async function startSentinel(masterPort: number, password = ''): Promise<RedisSentinel> {
  const sentinel = new RedisSentinel(await freePort(), masterPort, password);
  try {
    await sentinel.start();
    return sentinel;
  } catch (failure) {
    await sentinel.stop();
    throw failure;
  }
}

/** A sentinel that is stopped with the test. */
export function sentinelFor(t: Teardown, masterPort: number, password?: string): Promise<RedisSentinel> {
  return during(t, startSentinel(masterPort, password));
}

/** A master, its replica, and a sentinel that watches them. They end with the test. */
export async function startWatchedMaster(t: Teardown): Promise<{
  readonly master: RedisServer;
  readonly replica: RedisServer;
  readonly sentinel: RedisSentinel;
}> {
  const master = await redisFor(t);
  const replica = await redisFor(t, { args: ['--replicaof', '127.0.0.1', String(master.port)] });
  // A sentinel asks who the replicas are when it starts, and then after ten seconds.
  while (!/connected_slaves:1/.test(String(await master.command('INFO', 'replication'))));
  const sentinel = await sentinelFor(t, master.port);
  await sentinel.knowsReplica();
  return { master, replica, sentinel };
}
