import { mkdirSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { encodeRateLimitRequest, SHOULD_RATE_LIMIT_PATH } from '../../src/messages/client-codec.ts';
import { startRedis } from '../../test/support/redis-server.ts';
import { ForkedChild } from '../support/forked-child.ts';
import { RunningGrpcLoad } from '../support/grpc-load/load.ts';
import type { LoadWindow } from '../support/load-window.ts';
import { boundedNumber, listed, wholeNumber } from '../support/options.ts';
import { processUsage } from '../support/process-usage.ts';
import { limitTime, runBench } from '../support/run.ts';
import { formatMegabytes, formatNumber, formatRow } from '../support/table.ts';
import { makeWorkFolder } from '../support/work-folder.ts';
import { BenchService } from './decisions/service.ts';
import type { FlooderAnswers } from './floods/flooders.ts';
import { FLOOD_DOMAIN, FLOOD_KINDS, FLOOD_RULES } from './floods/kinds.ts';

const USAGE = `npm run bench:floods -- [--only NAMES] [--store embedded|redis] [--flooders N] [--seconds N]

Floods the gRPC port in every way, kind by kind, and measures an honest client of 100 calls a second beside it.
  --only NAMES     these kinds only, with commas between them; all without it
  --store NAME     where the service counts; embedded without it
  --flooders N     connections that flood, 1 to 1000; 100 without it
  --seconds N      how long each flood lasts, 1 to 60; 4 without it`;

const NO_FLOOD = 'none';
const HONEST_CALLS_PER_SECOND = 100;
const WARM_UP_MS = 500;
/** After a flood, until the memory is looked at and the next one begins. */
const REST_MS = 1_000;
/** After all of them, until the memory has to be given back. */
const CALM_MS = 30_000;
const START_MS = 100_000;

interface Plan {
  readonly kinds: readonly string[];
  readonly store: 'embedded' | 'redis';
  readonly flooders: number;
  readonly seconds: number;
}

function readPlan(args: readonly string[]): Plan {
  const names = FLOOD_KINDS.map(({ name }) => name);
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', default: names.join(',') },
      store: { type: 'string', default: 'embedded' },
      flooders: { type: 'string', default: '100' },
      seconds: { type: 'string', default: '4' },
    },
  });
  return {
    kinds: listed(values.only, { name: '--only', known: names }),
    store: listed(values.store, { name: '--store', known: ['embedded', 'redis'] })[0],
    flooders: wholeNumber(values.flooders, { name: '--flooders', min: 1, max: 1_000 }),
    seconds: boundedNumber(values.seconds, { name: '--seconds', min: 1, max: 60 }),
  };
}

const COLUMNS = [
  'flood',
  'answered/s',
  'p50 ms',
  'p99 ms',
  'max ms',
  'CPU %',
  'MB',
  'MB after',
  'flood/s',
  'ended',
  'fault',
];
const WIDTHS = [32, 10, 8, 8, 8, 6, 7, 8, 9, 7, 5];

/** The honest client for as long as a flood lasts. */
async function honest(
  port: number,
  pid: number,
  seconds: number,
): Promise<{ window: LoadWindow | null; fault: string }> {
  try {
    const load = await RunningGrpcLoad.start({
      port,
      connections: 1,
      streamsPerConnection: 1,
      callsPerSecond: HONEST_CALLS_PER_SECOND,
      expectedCode: 1,
      watched: { service: pid },
      template: {
        path: SHOULD_RATE_LIMIT_PATH,
        message: Buffer.from(encodeRateLimitRequest(HONEST_REQUEST)).toString('base64'),
        counted: [],
      },
    });
    await sleep(WARM_UP_MS);
    load.mark();
    await sleep(seconds * 1_000);
    const window = load.mark();
    await load.finish();
    return { window, fault: '' };
  } catch (failure) {
    return { window: null, fault: (failure as Error).message };
  }
}

const HONEST_REQUEST = {
  domain: FLOOD_DOMAIN,
  descriptors: [{ entries: [{ key: 'user', value: 'honest' }], limit: null, hitsAddend: null }],
  hitsAddend: 0,
};

async function flood(service: BenchService, kind: string, plan: Plan): Promise<boolean> {
  const port = service.ports.grpc;
  const child =
    kind === NO_FLOOD
      ? null
      : new ForkedChild<FlooderAnswers>({
          entry: new URL(`./floods/flooders${extname(import.meta.url)}`, import.meta.url),
        });
  await child?.ready();
  await child?.ask('start', { port, kind, connections: plan.flooders });
  const { window, fault } = await honest(port, service.pid, plan.seconds);
  const report = await child?.ask('stop');
  await child?.stop();
  await sleep(REST_MS);
  const row = [
    kind,
    formatNumber(window === null ? Number.NaN : window.latency.count / window.seconds),
    ...[window?.latency.p50Ms, window?.latency.p99Ms, window?.latency.maxMs].map(ms =>
      formatNumber(ms ?? Number.NaN, 2),
    ),
    formatNumber(window === null ? Number.NaN : window.cpuMs['service'] / window.seconds / 10),
    formatMegabytes(window?.rssBytes['service'] ?? Number.NaN, 0),
    formatMegabytes(processUsage(service.pid).rssBytes, 0),
    formatNumber((report?.answered ?? Number.NaN) / plan.seconds),
    formatNumber(report?.ended ?? Number.NaN),
    fault,
  ];
  console.log(formatRow(row, WIDTHS));
  return fault === '';
}

async function main(): Promise<void> {
  const plan = readPlan(process.argv.slice(2));
  const kinds = [NO_FLOOD, ...plan.kinds];
  limitTime(START_MS + kinds.length * (plan.seconds * 1_000 + 10_000));
  const folder = makeWorkFolder();
  mkdirSync(join(folder, 'config'));
  writeFileSync(join(folder, 'config/floods.yaml'), FLOOD_RULES);
  const redis = plan.store === 'redis' ? await startRedis() : null;
  const service = await BenchService.start({
    RUNTIME_ROOT: folder,
    ...(redis === null ? {} : { KVCACHE_URL: redis.address }),
  });
  try {
    // For whoever wants to look inside while it is under load.
    console.error(`process ${service.pid}, debug port http://127.0.0.1:${service.ports.debug}/`);
    console.log(formatRow(COLUMNS, WIDTHS));
    const before = processUsage(service.pid).rssBytes;
    let failed = 0;
    for (const kind of kinds) if (!(await flood(service, kind, plan))) failed++;
    await sleep(CALM_MS);
    const after = processUsage(service.pid).rssBytes;
    const seconds = CALM_MS / 1_000;
    console.log(
      `\nmemory: ${formatMegabytes(before, 0)} MB at first, ${formatMegabytes(after, 0)} MB ${seconds} s after the last flood`,
    );
    if (failed > 0) throw new Error(`the honest client failed beside ${failed} floods`);
  } finally {
    await service.stop();
    await redis?.stop();
  }
}

await runBench(main, USAGE);
