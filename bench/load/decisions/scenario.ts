import { CONTESTANTS, type ContestantName, type Store, serviceOn } from './contestants.ts';
import { LIMIT_KINDS } from './limit-kinds.ts';
import { PATTERNS, type Pattern, type PatternName, routesPattern, withHolder } from './patterns.ts';

/** How requests come in, and by which generator. */
export const FRONTS = ['grpc', 'h2load', 'json'] as const;
/** `check` is measured in a part of its own. */
export type Front = (typeof FRONTS)[number] | 'check';

/** So many connections with so many calls open on each; over HTTP/1.1 that is a connection for each call. */
export interface Connections {
  readonly connections: number;
  readonly streamsPerConnection: number;
}

/** By the names that the command line has for them. */
export const CONNECTIONS = {
  '1x1': { connections: 1, streamsPerConnection: 1 },
  '8x32': { connections: 8, streamsPerConnection: 32 },
  '32x100': { connections: 32, streamsPerConnection: 100 },
} as const satisfies Record<string, Connections>;
export type ConnectionsName = keyof typeof CONNECTIONS;

/** `rules` is the same load on contestants with few and with many rules; it is measured in a part of its own. */
export type ScenarioPattern = PatternName | 'rules';

export interface Scenario {
  readonly front: Front;
  readonly pattern: ScenarioPattern;
  readonly connections: ConnectionsName;
  /** In the order in which they take turns. */
  readonly contestants: readonly ContestantName[];
}

/** The usual scenarios of the load part: everything once, and more of what matters most. */
const USUAL: readonly (readonly [Front, PatternName, ConnectionsName])[] = [
  ['grpc', 'hot', '1x1'],
  ['grpc', 'hot', '8x32'],
  ['grpc', 'hot', '32x100'],
  ['grpc', 'keys', '8x32'],
  ['grpc', 'keys', '32x100'],
  ['grpc', 'four', '8x32'],
  ['grpc', 'over', '8x32'],
  ['grpc', 'none', '8x32'],
  ['h2load', 'hot', '8x32'],
  ['json', 'hot', '1x1'],
  ['json', 'hot', '8x32'],
  ['json', 'keys', '8x32'],
];

/** Those of a quick run. The one key over /json, because autocannon takes seconds to make 100 000 bodies. */
const QUICK: typeof USUAL = [
  ['grpc', 'hot', '1x1'],
  ['grpc', 'hot', '8x32'],
  ['grpc', 'keys', '8x32'],
  ['json', 'hot', '8x32'],
];

/** What the user wants; an empty list is everything. */
export interface Selection {
  readonly stores: readonly Store[];
  readonly fronts: readonly (typeof FRONTS)[number][];
  readonly patterns: readonly PatternName[];
  readonly connections: readonly ConnectionsName[];
  readonly baseline: boolean;
  /** Whether another service is measured as well; over gRPC only. */
  readonly peer: boolean;
  readonly quick: boolean;
}

/** Scenarios of the load part. Patterns and connections that are both named are all combined, also unusual ones. */
export function loadScenarios(selection: Selection): Scenario[] {
  const { fronts, patterns, connections } = selection;
  const usual = selection.quick ? QUICK : USUAL;
  const wanted =
    patterns.length > 0 && connections.length > 0
      ? (fronts.length > 0 ? fronts : (['grpc'] as const)).flatMap(front =>
          patterns.flatMap(pattern => connections.map(name => [front, pattern, name] as const)),
        )
      : usual.filter(
          ([front, pattern, name]) =>
            holds(fronts, front) && holds(patterns, pattern) && holds(connections, name),
        );
  return wanted
    .filter(([front, pattern]) => front !== 'h2load' || pattern === 'hot')
    .map(([front, pattern, name]) => ({
      front,
      pattern,
      connections: name,
      contestants: contestantsFor(front, pattern, selection),
    }));
}

/** The part that compares very many rules with few. */
export function rulesScenario({ stores }: Selection): Scenario {
  return {
    front: 'grpc',
    pattern: 'rules',
    connections: '8x32',
    contestants: storesOf(stores).flatMap(store => [serviceOn(store, 'few'), serviceOn(store, 'many')]),
  };
}

/** What a contestant is asked. Limits with leases need a holder. */
export function patternOf(scenario: Scenario, contestant: ContestantName): Pattern {
  const { routes, limits = 'plain' } = CONTESTANTS[contestant];
  const pattern = scenario.pattern === 'rules' ? routesPattern(routes) : PATTERNS[scenario.pattern];
  return 'hasHolders' in LIMIT_KINDS[limits] ? withHolder(pattern) : pattern;
}

export function titleOfScenario({ front, pattern, connections }: Scenario): string {
  const { connections: count, streamsPerConnection } = CONNECTIONS[connections];
  const title = pattern === 'rules' ? '100 000 keys over the rules' : PATTERNS[pattern].title;
  return `${front}, ${title}, ${count} × ${streamsPerConnection}`;
}

export function storesOf(stores: readonly Store[]): readonly Store[] {
  return stores.length > 0 ? stores : ['embedded', 'redis'];
}

function contestantsFor(
  front: Front,
  pattern: PatternName,
  { stores, baseline, peer }: Selection,
): ContestantName[] {
  const services: ContestantName[] = storesOf(stores).map(store => serviceOn(store, 'few'));
  if (pattern === 'over' && services.includes('redis')) services.push('redis-cached');
  return [
    ...services,
    ...(baseline ? (['baseline'] as const) : []),
    ...(peer && front === 'grpc' ? (['peer'] as const) : []),
  ];
}

function holds<T>(wanted: readonly T[], value: T): boolean {
  return wanted.length === 0 || wanted.includes(value);
}
