import { mkdirSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startRedis } from '../../test/support/redis-server.ts';
import { ForkedChild } from '../support/forked-child.ts';
import { boundedNumber, listed, wholeNumber } from '../support/options.ts';
import { processUsage } from '../support/process-usage.ts';
import { limitTime, runBench } from '../support/run.ts';
import { formatMegabytes, formatNumber, formatRow } from '../support/table.ts';
import { makeWorkFolder } from '../support/work-folder.ts';
import { BenchService } from './decisions/service.ts';
import type { FlooderAnswers } from './floods/flooders.ts';
import { type HonestWindow, honestGrpc, honestHttp } from './floods/honest.ts';
import { HTTP_FLOOD_KINDS } from './floods/http-kinds.ts';
import { FLOOD_KINDS, FLOOD_RULES } from './floods/kinds.ts';

const USAGE = `npm run bench:floods -- [--front grpc|json] [--engine uws|node] [--only NAMES] [--store embedded|redis] [--flooders N] [--seconds N]

Floods a port in every way, kind by kind, and measures an honest client of 100 calls a second beside it.
  --front NAME     the gRPC port, or the HTTP port with /json; grpc without it
  --engine NAME    with --front json: the engine of the HTTP port (HTTP_SERVER_ENGINE); uws without it
  --only NAMES     these kinds only, with commas between them; all without it
  --store NAME     where the service counts; embedded without it
  --flooders N     connections that flood, 1 to 1000; 100 without it
  --seconds N      how long each flood lasts, 1 to 60; 4 without it`;

const NO_FLOOD = 'none';
/** Interval between memory measurements during a flood. */
const LOOK_MS = 50;
/** Delay after a flood before memory is measured and the next flood starts. */
const REST_MS = 1_000;
/** Delay after the last flood before memory should have been released. */
const CALM_MS = 30_000;
const START_MS = 100_000;

interface Plan {
  readonly front: 'grpc' | 'json';
  readonly engine: 'uws' | 'node';
  readonly kinds: readonly string[];
  readonly store: 'embedded' | 'redis';
  readonly flooders: number;
  readonly seconds: number;
}

function readPlan(args: readonly string[]): Plan {
  const { values } = parseArgs({
    args: [...args],
    options: {
      front: { type: 'string', default: 'grpc' },
      engine: { type: 'string', default: 'uws' },
      only: { type: 'string' },
      store: { type: 'string', default: 'embedded' },
      flooders: { type: 'string', default: '100' },
      seconds: { type: 'string', default: '4' },
    },
  });
  const front = listed(values.front, { name: '--front', known: ['grpc', 'json'] })[0];
  const names = (front === 'grpc' ? FLOOD_KINDS : HTTP_FLOOD_KINDS).map(({ name }) => name);
  return {
    front,
    engine: listed(values.engine, { name: '--engine', known: ['uws', 'node'] })[0],
    kinds: values.only === undefined ? names : listed(values.only, { name: '--only', known: names }),
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
  'p99 CPU',
  'CPU %',
  'MB most',
  'MB after',
  'flood/s',
  'ended',
  'fault',
];
const WIDTHS = [32, 10, 8, 8, 8, 7, 6, 7, 8, 9, 7, 5];

interface Measured {
  readonly window: HonestWindow | null;
  readonly fault: string;
  /** The largest measured value. */
  readonly rssBytes: number;
}

/** Runs the honest client during a flood. */
async function measure(service: BenchService, { front, seconds }: Plan): Promise<Measured> {
  const { pid, ports } = service;
  let rssBytes = processUsage(pid).rssBytes;
  const looking = setInterval(() => {
    rssBytes = Math.max(rssBytes, processUsage(pid).rssBytes);
  }, LOOK_MS);
  try {
    const window =
      front === 'grpc'
        ? await honestGrpc(ports.grpc, pid, seconds)
        : await honestHttp(ports.http, pid, seconds);
    return { window, fault: '', rssBytes };
  } catch (failure) {
    return { window: null, fault: (failure as Error).message, rssBytes };
  } finally {
    clearInterval(looking);
  }
}

async function startFlooders(
  service: BenchService,
  kind: string,
  { front, flooders }: Plan,
): Promise<ForkedChild<FlooderAnswers> | null> {
  if (kind === NO_FLOOD) return null;
  const child = new ForkedChild<FlooderAnswers>({
    entry: new URL(`./floods/flooders${extname(import.meta.url)}`, import.meta.url),
  });
  await child.ready();
  const isDebug = front === 'json' && HTTP_FLOOD_KINDS.find(({ name }) => name === kind)?.port === 'debug';
  const { grpc, http, debug } = service.ports;
  const port = front === 'grpc' ? grpc : isDebug ? debug : http;
  await child.ask('start', { port, front, kind, connections: flooders });
  return child;
}

async function flood(service: BenchService, kind: string, plan: Plan): Promise<boolean> {
  const child = await startFlooders(service, kind, plan);
  const { window, fault, rssBytes } = await measure(service, plan);
  const report = await child?.ask('stop');
  await child?.stop();
  await sleep(REST_MS);
  const latency = window?.latency;
  const row = [
    kind,
    formatNumber(window === null ? Number.NaN : window.latency.count / window.seconds),
    ...[latency?.p50Ms, latency?.p99Ms, latency?.maxMs, window?.mainCpuP99Ms].map(ms =>
      formatNumber(ms ?? Number.NaN, 2),
    ),
    formatNumber(window === null ? Number.NaN : window.cpuMs['service'] / window.seconds / 10),
    formatMegabytes(rssBytes, 0),
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
    HTTP_SERVER_ENGINE: plan.engine,
    ...(redis === null ? {} : { KVCACHE_URL: redis.address }),
  });
  try {
    // Printed so that tools can attach to the service while it is under load.
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
