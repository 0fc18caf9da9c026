import { median, medianRatio } from '../../support/statistics.ts';

/** The servers that are compared, in the order in which they take turns. */
export const CONTESTANTS = ['own', 'grpc-js', 'http2'] as const;
export type Contestant = (typeof CONTESTANTS)[number];

/** Load: so many connections with so many calls open on each. */
export interface Scenario {
  readonly connections: number;
  readonly streamsPerConnection: number;
}

export const SCENARIOS: readonly Scenario[] = [
  { connections: 1, streamsPerConnection: 1 },
  { connections: 8, streamsPerConnection: 32 },
  { connections: 32, streamsPerConnection: 100 },
];

export function nameOfScenario({ connections, streamsPerConnection }: Scenario): string {
  return `${connections} × ${streamsPerConnection}`;
}

/** What one server did in one round of one scenario. */
export interface Figures {
  readonly requestsPerSecond: number;
  readonly meanLatencyMs: number;
  readonly p50LatencyMs: number;
  readonly p99LatencyMs: number;
  /** Processor time of the server's process for one call. */
  readonly cpuMicrosPerRequest: number;
  /** Share of one core that the server's process used; below 1, the generator was the limit or nobody was. */
  readonly busy: number;
  readonly rssBytes: number;
}

/** The rounds of one scenario: `rounds[i]` has the figures of all servers in round `i`. */
export type Rounds = readonly Readonly<Record<Contestant, Figures>>[];

export interface ScenarioResult {
  readonly scenario: Scenario;
  readonly rounds: Rounds;
}

/** How the own server stands to another one. Each is a median over the rounds of the ratio within a round. */
export interface Ratios {
  /** Requests a second, own to other. */
  readonly requestsPerSecond: number;
  /** Median latency, other to own. */
  readonly p50Latency: number;
  /** Processor time for a call, other to own. */
  readonly cpu: number;
}

/** The median over the rounds of each figure. */
export function medianFigures(rounds: Rounds, contestant: Contestant): Figures {
  const of = (figure: keyof Figures): number => median(rounds.map(round => round[contestant][figure]));
  return {
    requestsPerSecond: of('requestsPerSecond'),
    meanLatencyMs: of('meanLatencyMs'),
    p50LatencyMs: of('p50LatencyMs'),
    p99LatencyMs: of('p99LatencyMs'),
    cpuMicrosPerRequest: of('cpuMicrosPerRequest'),
    busy: of('busy'),
    rssBytes: of('rssBytes'),
  };
}

/** Above 1, the own server is the better one. */
export function ratiosToOwn(rounds: Rounds, other: Contestant): Ratios {
  const of = (contestant: Contestant, figure: keyof Figures): number[] =>
    rounds.map(round => round[contestant][figure]);
  return {
    requestsPerSecond: medianRatio(of('own', 'requestsPerSecond'), of(other, 'requestsPerSecond')),
    p50Latency: medianRatio(of(other, 'p50LatencyMs'), of('own', 'p50LatencyMs')),
    cpu: medianRatio(of(other, 'cpuMicrosPerRequest'), of('own', 'cpuMicrosPerRequest')),
  };
}
