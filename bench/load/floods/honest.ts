import { setTimeout as sleep } from 'node:timers/promises';
import { encodeRateLimitRequest, SHOULD_RATE_LIMIT_PATH } from '../../../src/messages/client-codec.ts';
import { RunningGrpcLoad } from '../../support/grpc-load/load.ts';
import type { LoadWindow } from '../../support/load-window.ts';
import { HonestHttpClient } from './honest-http.ts';
import { FLOOD_DOMAIN } from './kinds.ts';

const CALLS_PER_SECOND = 100;
const WARM_UP_MS = 500;

/** What an honest client met beside a flood. */
export interface HonestWindow extends LoadWindow {
  /** Processor time that the primary thread of the service used while a call waited; NaN where it is not measured. */
  readonly mainCpuP99Ms: number;
}

const REQUEST = {
  domain: FLOOD_DOMAIN,
  descriptors: [{ entries: [{ key: 'user', value: 'honest' }], limit: null, hitsAddend: null }],
  hitsAddend: 0,
};

/**
 * 100 calls a second on one connection of the gRPC port.
 * @throws Error when a call failed
 */
export async function honestGrpc(port: number, pid: number, seconds: number): Promise<HonestWindow> {
  const load = await RunningGrpcLoad.start({
    port,
    connections: 1,
    streamsPerConnection: 1,
    callsPerSecond: CALLS_PER_SECOND,
    expectedCode: 1,
    watched: { service: pid },
    template: {
      path: SHOULD_RATE_LIMIT_PATH,
      message: Buffer.from(encodeRateLimitRequest(REQUEST)).toString('base64'),
      counted: [],
    },
  });
  await sleep(WARM_UP_MS);
  load.mark();
  await sleep(seconds * 1_000);
  const window = load.mark();
  await load.finish();
  return { ...window, mainCpuP99Ms: Number.NaN };
}

/** The same with `/json`. */
export async function honestHttp(port: number, pid: number, seconds: number): Promise<HonestWindow> {
  const client = new HonestHttpClient(port, pid, CALLS_PER_SECOND);
  try {
    await sleep(WARM_UP_MS);
    client.mark();
    await sleep(seconds * 1_000);
    return client.mark();
  } finally {
    client.stop();
  }
}
