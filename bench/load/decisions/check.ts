import { setTimeout as sleep } from 'node:timers/promises';
import { windowStartS } from '../../../src/counters/window.ts';
import type { RateLimitResponse } from '../../../src/messages/client-codec.ts';
import { askOverGrpc, askOverHttp } from '../../../test/support/asking.ts';
import { GrpcClient } from '../../../test/support/grpc-client.ts';
import type { LoadTotals } from '../../support/generator.ts';
import { CONTESTANTS } from './contestants.ts';
import type { Field, Running } from './field.ts';
import { LIMIT_KINDS, type LimitKind, ROOMY_LIMIT } from './limit-kinds.ts';
import {
  CODE,
  checkRequestOf,
  jsonBodyOf,
  OVER_KEYS,
  PATTERNS,
  type Pattern,
  requestOf,
} from './patterns.ts';

/** Numbers of calls that are looked at before a load. */
const SAMPLES = [0, 1, 61_803, 99_999];
const UNIT_YEAR = 6;
/** How many of the keys of the pattern `over` are asked at a time. */
const PRIMED_AT_ONCE = 100;
/** Counts are read again until they stay the same for this long: a generator may leave requests that are still counted. */
const SETTLED_MS = 25;
const SETTLED_LOOKS = 40;

/**
 * Asks a contestant over both fronts, whole answers decoded, and fails unless they are as the pattern says. A peer is
 * asked over gRPC alone, and only its overall code is checked: services differ in what they say about descriptors.
 */
export async function checkAnswers(running: Running, pattern: Pattern): Promise<void> {
  const client = clientOf(running);
  try {
    if (pattern === PATTERNS.over) await driveOver(client, pattern);
    for (const number of SAMPLES) {
      const request = requestOf(pattern, number);
      const answer = await askOverGrpc(client, request);
      const fault =
        running.name === 'peer'
          ? codeFaultOf(pattern, answer)
          : faultOf(pattern, answer) ||
            explanationFaultOf(running, answer) ||
            (await jsonFaultOf(running, pattern, number)) ||
            (await checkFaultOf(running, pattern, number));
      if (fault !== '')
        throw new Error(`${titleOf(running)} answers call ${number} of "${pattern.title}" wrongly: ${fault}`);
    }
  } finally {
    client.close();
  }
}

function codeFaultOf(pattern: Pattern, { overallCode }: RateLimitResponse): string {
  return overallCode === pattern.code ? '' : `overall code ${overallCode}, not ${pattern.code}`;
}

function faultOf(pattern: Pattern, answer: RateLimitResponse): string {
  const { statuses } = answer;
  const codes = statuses.map(({ code }) => code);
  const limited = statuses.filter(({ currentLimit }) => currentLimit !== null).length;
  const codeFault = codeFaultOf(pattern, answer);
  if (codeFault !== '') return codeFault;
  if (codes.length !== pattern.descriptors.length) return `${codes.length} statuses`;
  if (codes.some(code => code !== pattern.code)) return `codes ${codes.join(', ')}`;
  if (limited !== pattern.limited) return `${limited} descriptors with a limit, not ${pattern.limited}`;
  return '';
}

/** Explained refusals must have all that is measured, and those without must have none of it. */
function explanationFaultOf(
  { name }: Running,
  { overallCode, responseHeadersToAdd, rawBody }: RateLimitResponse,
): string {
  if (overallCode !== CODE.overLimit) return '';
  const isExplained = name.endsWith('-explained');
  const names = new Set(responseHeadersToAdd.map(({ key }) => key.toLowerCase()));
  const missing = ['retry-after', 'ratelimit', 'ratelimit-policy'].filter(
    each => names.has(each) !== isExplained,
  );
  if (missing.length > 0) return `headers ${[...names].join(', ')}`;
  return rawBody.includes('quota-exceeded') === isExplained ? '' : `the body "${rawBody}"`;
}

async function jsonFaultOf(running: Running, pattern: Pattern, number: number): Promise<string> {
  const body = JSON.parse(jsonBodyOf(pattern, number));
  const { status, body: answer } = await askOverHttp(`127.0.0.1:${running.httpPort}`, body);
  const [wanted, text] = pattern.code === CODE.ok ? [200, 'OK'] : [429, 'OVER_LIMIT'];
  if (status !== wanted) return `status ${status} over /json, not ${wanted}`;
  return answer.overallCode === text ? '' : `overall code ${answer.overallCode} over /json, not ${text}`;
}

/** A request that `/check` decides has the headers of its limits, and is counted like any other. */
async function checkFaultOf({ name, httpPort }: Running, pattern: Pattern, number: number): Promise<string> {
  if (CONTESTANTS[name].maps !== true) return '';
  const { method, path, headers } = checkRequestOf(pattern, number);
  const answer = await fetch(`http://127.0.0.1:${httpPort}${path}`, { method, headers });
  const wanted = pattern.code === CODE.ok ? 200 : 429;
  if (answer.status !== wanted) return `status ${answer.status} over /check, not ${wanted}`;
  const policies = answer.headers.get('ratelimit')?.split(', ') ?? [];
  return policies.length === pattern.limited
    ? ''
    : `${policies.length} limits over /check, not ${pattern.limited}`;
}

/** Two hits where the limit is one. */
async function driveOver(client: GrpcClient, pattern: Pattern): Promise<void> {
  for (let first = 0; first < OVER_KEYS; first += PRIMED_AT_ONCE) {
    const numbers = Array.from({ length: PRIMED_AT_ONCE }, (_, i) => first + i);
    await Promise.all(numbers.map(number => askOverGrpc(client, requestOf(pattern, number, 2))));
  }
}

/** The kind of the limits on the key of the patterns `hot` and `keys`. */
export function kindOf({ name }: Running): LimitKind {
  return LIMIT_KINDS[CONTESTANTS[name].limits ?? 'plain'];
}

/** What a contestant has counted, by two ways that do not know of each other. */
export interface Counts {
  /** The count of the one hot key, in the store, or how much less is left of it than of the roomiest limit. */
  readonly hot: number;
  /** Hits in the statistics of the rules; null where there are none, or so many that the page is too long. */
  readonly statistics: number | null;
}

/** Null for a peer, whose counters may have other keys. */
export async function readCounts(field: Field, running: Running): Promise<Counts | null> {
  if (running.name === 'peer') return null;
  let last = await countsNow(field, running);
  for (let look = 0; look < SETTLED_LOOKS; look++) {
    await sleep(SETTLED_MS);
    const now = await countsNow(field, running);
    if (now.hot === last.hot && now.statistics === last.statistics) break;
    last = now;
  }
  return last;
}

async function countsNow(field: Field, running: Running): Promise<Counts> {
  return { hot: await hotCount(field, running), statistics: await countedHits(running) };
}

/**
 * One sentence when the hits that were counted are not those of the answers; '' when they are.
 *
 * @param kind of the limits: how often a hit is counted in statistics
 */
export function countFault(
  pattern: Pattern,
  { answered, begun }: LoadTotals,
  { before, after }: { readonly before: Counts | null; readonly after: Counts | null },
  { countedBy, forgotten, hasHolders }: Omit<LimitKind, 'title' | 'lines'> = LIMIT_KINDS.plain,
): string {
  if (before === null || after === null) return '';
  const wrong = (what: string, counted: number, hits: number): string =>
    counted >= answered * hits - forgotten && counted <= begun * hits + forgotten
      ? ''
      : `${what} has grown by ${counted}, for ${answered} answers to ${begun} requests of ${hits} hits each`;
  const hotHits = pattern.title !== PATTERNS.hot.title ? 0 : hasHolders === true ? 0.5 : 1;
  const fault = wrong('the count of the hot key', after.hot - before.hot, hotHits);
  if (fault !== '' || after.statistics === null || before.statistics === null) return fault;
  return wrong('total_hits of all rules', after.statistics - before.statistics, pattern.limited * countedBy);
}

/** Redis is asked for plain counts. Everything else is asked for what is left, with a request that counts nothing. */
async function hotCount(field: Field, running: Running): Promise<number> {
  const [[[key, value]]] = PATTERNS.hot.descriptors;
  const { store, limits = 'plain' } = CONTESTANTS[running.name];
  if (store === 'redis' && limits === 'plain') {
    const start = windowStartS(UNIT_YEAR, Math.floor(Date.now() / 1_000));
    return await field.count(running.database, `bench_${key}_${value}_${start}`);
  }
  const client = clientOf(running);
  try {
    const request = requestOf(PATTERNS.hot, 0);
    const descriptors = request.descriptors.map(descriptor => ({ ...descriptor, hitsAddend: 0 }));
    const { statuses } = await askOverGrpc(client, { ...request, descriptors });
    return ROOMY_LIMIT - statuses[0].limitRemaining;
  } finally {
    client.close();
  }
}

async function countedHits({ name, service }: Running): Promise<number | null> {
  if (service === null || CONTESTANTS[name].routes > 10) return null;
  const lines = (await service.page('/stats')).matchAll(/\.total_hits: (\d+)$/gm);
  return [...lines].reduce((sum, [, hits]) => sum + Number(hits), 0);
}

function clientOf({ grpcPort }: Running): GrpcClient {
  return new GrpcClient({ host: '127.0.0.1', port: grpcPort });
}

function titleOf({ name }: Running): string {
  return CONTESTANTS[name].title;
}
