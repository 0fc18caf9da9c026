import { setTimeout as sleep } from 'node:timers/promises';
import { ForkedChild } from '../../support/forked-child.ts';
import type { ContestantAnswers, ContestantReady } from './contestant.ts';
import type { IdleClientAnswers } from './idle-client.ts';
import { probe } from './probe.ts';

/** What connections cost on which nothing happens. */
export interface IdleFigures {
  readonly connections: number;
  /** Memory of the server's process before any connection; all three after a garbage collection or before one. */
  readonly rssBeforeBytes: number;
  /** With all connections open, as the process stands. */
  readonly rssBytes: number;
  /** The same after a full garbage collection. */
  readonly rssCollectedBytes: number;
  /** Growth of objects and buffers, after a garbage collection, for one connection. */
  readonly heapBytesPerConnection: number;
}

/** The server looks after its connections once a second; what that costs is to be in the figures. */
const SETTLE_MS = 2_500;

/** Measures the own server with `count` connections that have exchanged SETTINGS and say nothing more. */
export async function measureIdle(count: number, entryOf: (name: string) => URL): Promise<IdleFigures> {
  const nodeFlags = ['--expose-gc'];
  const server = new ForkedChild<ContestantAnswers>({ entry: entryOf('own'), nodeFlags });
  const client = new ForkedChild<IdleClientAnswers>({ entry: entryOf('idle-client') });
  try {
    const { port } = await server.ready<ContestantReady>();
    await client.ready();
    await probe('own', port);
    const before = await server.ask('collectedSample');
    await client.ask('open', { port, count });
    await sleep(SETTLE_MS);
    const open = await server.ask('sample');
    const collected = await server.ask('collectedSample');
    const lost = await client.ask('lost');
    if (lost > 0) throw new Error(`the server closed ${lost} of ${count} idle connections`);
    return {
      connections: count,
      rssBeforeBytes: before.rssBytes,
      rssBytes: open.rssBytes,
      rssCollectedBytes: collected.rssBytes,
      heapBytesPerConnection: (collected.heapBytes - before.heapBytes) / count,
    };
  } finally {
    await Promise.all([server.stop(), client.stop()]);
  }
}
