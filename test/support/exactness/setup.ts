import type { RedisServer } from '../redis-server.ts';
import { writeRules } from '../rule-files.ts';
import { type ServiceProcess, serviceFor } from '../service.ts';
import { holdSharedPort } from '../shared-port.ts';
import { tempDirectory } from '../temp-directory.ts';
import { grpcFront, jsonFront } from './fronts.ts';
import { ConcurrentLoad, type Counter, type LoadOptions } from './load.ts';

/** The part of a tap test that releases what a test has started. */
export interface Teardown {
  teardown(release: () => unknown): void;
}

export const DOMAIN = 'shop';

/** The window of every rule is a year, so that hardly a run crosses the border of one. */
export const RULES = `domain: shop
descriptors:
  - key: user
    rate_limit: {unit: year, requests_per_unit: 60}
  - key: user
    value: vip
    rate_limit: {unit: year, requests_per_unit: 3000}
  - key: path
    descriptors:
      - key: method
        rate_limit: {unit: year, requests_per_unit: 900}
      - key: method
        value: DELETE
        rate_limit: {unit: year, requests_per_unit: 0}
  - key: plan
    value: gold*
    rate_limit: {unit: year, requests_per_unit: 1500}
  - key: site
    rate_limit: {unit: year, requests_per_unit: 10000000}
  - key: free
    rate_limit: {unlimited: true}
`;

const counter = (text: string, rule: string, limit: number): Counter => ({ text, rule, limit });

/** Limits that a load goes far beyond, limits that it just reaches, and one that it never does. */
export const COUNTERS: readonly Counter[] = [
  ...['ann', 'bob', 'eve'].map(user => counter(`user=${user}`, 'shop.user', 60)),
  counter('user=vip', 'shop.user_vip', 3000),
  ...['/a', '/b'].map(path => counter(`path=${path},method=GET`, 'shop.path.method', 900)),
  counter('path=/a,method=DELETE', 'shop.path.method_DELETE', 0),
  ...['gold1', 'gold2'].map(plan => counter(`plan=${plan}`, 'shop.plan_gold*', 1500)),
  counter('site=www', 'shop.site', 10_000_000),
];

/** Descriptors that no limit applies to. */
export const UNLIMITED: readonly string[] = ['free=x', 'path=/a', 'other=x', 'plan=silver'];

/** Settings of a service with these rules. */
export function ruleSettings(
  t: Teardown,
  rules = RULES,
): { readonly RUNTIME_ROOT: string; RUNTIME_WATCH_ROOT: string } {
  const root = writeRules(tempDirectory(t), { 'config/rules.yaml': rules });
  return { RUNTIME_ROOT: root, RUNTIME_WATCH_ROOT: 'false' };
}

/** Starts as many processes on one HTTP port and one gRPC port. */
export async function startProcesses(
  t: Teardown,
  count: number,
  env: Readonly<Record<string, string>>,
): Promise<readonly ServiceProcess[]> {
  const http = await holdSharedPort();
  const grpc = await holdSharedPort();
  const shared = { SHARE_PORTS: 'true', PORT: String(http.port), GRPC_PORT: String(grpc.port) };
  try {
    return await Promise.all(
      Array.from({ length: count }, async () => {
        return await serviceFor(t, { env: { ...shared, ...env } });
      }),
    );
  } finally {
    await Promise.all([http.release(), grpc.release()]);
  }
}

/** Callers of both fronts, as many of each, at the ports that processes share. */
export function loadOn(
  t: Teardown,
  service: ServiceProcess,
  options: Partial<LoadOptions> & { readonly seed: number; readonly callersOfEachFront?: number },
): ConcurrentLoad {
  const { callersOfEachFront = 10, ...load } = options;
  const fronts = Array.from({ length: callersOfEachFront }, () => [
    grpcFront(service.grpc),
    jsonFront(service.http),
  ]).flat();
  const running = new ConcurrentLoad(fronts, {
    domain: DOMAIN,
    counters: COUNTERS,
    unlimited: UNLIMITED,
    ...load,
  });
  t.teardown(() => running.close());
  return running;
}

/** What Redis holds, by the text of the counter; 0 where it has no such key. */
export async function countsInRedis(
  redis: RedisServer,
  counters: Iterable<Counter>,
): Promise<Map<string, number>> {
  const keys = (await redis.command('KEYS', '*')) as string[];
  const values = keys.length === 0 ? [] : ((await redis.command('MGET', ...keys)) as string[]);
  const found = new Map(keys.map((key, i) => [key.slice(0, key.lastIndexOf('_') + 1), Number(values[i])]));
  const keyOf = ({ text }: Counter) => `${DOMAIN}_${text.replace(/[=,]/g, '_')}_`;
  return new Map([...counters].map(each => [each.text, found.get(keyOf(each)) ?? 0]));
}
