import { formatMegabytes, formatNumber, formatTable } from '../../support/table.ts';
import {
  CONTESTANTS,
  type Contestant,
  type Figures,
  medianFigures,
  nameOfScenario,
  ratiosToOwn,
  type ScenarioResult,
} from './figures.ts';
import type { IdleFigures } from './idle.ts';

const HEAD = [
  'connections × streams',
  'server',
  'requests/s',
  'mean ms',
  'p50 ms',
  'p99 ms',
  'CPU µs/request',
  'busy %',
  'RSS MB',
];

const RATIO_HEAD = ['own to', 'connections × streams', 'requests/s', 'p50 latency', 'CPU'];

/** Names as the table shows them. */
const TITLE: Readonly<Record<Contestant, string>> = {
  own: 'own',
  'grpc-js': '@grpc/grpc-js',
  http2: 'node:http2',
};

/** The medians of all servers, and below how the own one stands to the others. */
export function loadTables(results: readonly ScenarioResult[]): string[] {
  const rows = results.flatMap(({ scenario, rounds }) =>
    CONTESTANTS.map(contestant => [
      nameOfScenario(scenario),
      TITLE[contestant],
      ...figureCells(medianFigures(rounds, contestant)),
    ]),
  );
  const ratios = results.flatMap(({ scenario, rounds }) =>
    CONTESTANTS.filter(contestant => contestant !== 'own').map(contestant => {
      const { requestsPerSecond, p50Latency, cpu } = ratiosToOwn(rounds, contestant);
      return [
        TITLE[contestant],
        nameOfScenario(scenario),
        ...[requestsPerSecond, p50Latency, cpu].map(ratio => `${formatNumber(ratio, 1)}×`),
      ];
    }),
  );
  return [...formatTable(HEAD, rows), '', ...formatTable(RATIO_HEAD, ratios)];
}

/** One line each for what idle connections take. */
export function idleLines(idle: IdleFigures): string[] {
  const perConnection = (idle.rssBytes - idle.rssBeforeBytes) / idle.connections;
  return [
    `${formatNumber(idle.connections)} idle connections on the own server`,
    `  RSS of its process: ${formatMegabytes(idle.rssBytes)} MB, after a garbage collection ` +
      `${formatMegabytes(idle.rssCollectedBytes)} MB; without connections ${formatMegabytes(idle.rssBeforeBytes)} MB`,
    `  for one connection: ${formatNumber(perConnection)} bytes of RSS, of them ` +
      `${formatNumber(idle.heapBytesPerConnection)} in objects and buffers`,
  ];
}

function figureCells(figures: Figures): string[] {
  return [
    formatNumber(figures.requestsPerSecond),
    formatNumber(figures.meanLatencyMs, 3),
    formatNumber(figures.p50LatencyMs, 3),
    formatNumber(figures.p99LatencyMs, 3),
    formatNumber(figures.cpuMicrosPerRequest, 2),
    formatNumber(figures.busy * 100),
    formatMegabytes(figures.rssBytes, 0),
  ];
}
