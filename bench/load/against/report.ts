import type { Compared, ComparedFigure } from '../../support/comparison/table.ts';
import { CONTESTANTS } from '../decisions/contestants.ts';
import type { Figures } from '../decisions/figures.ts';
import type { BuildsResult, LoadResult, MemoryResult } from './rounds.ts';

/** What both builds did under each load, and the memory of each service. */
export function comparedBuilds({ loads, memory }: BuildsResult): Compared[] {
  return [...loads.map(comparedLoad), ...memory.map(comparedMemory)];
}

/** A steady rate is the same for both builds. */
function comparedLoad({ load, rounds }: LoadResult): Compared {
  const of = (figure: keyof Figures): Pick<ComparedFigure, 'present' | 'other'> => ({
    present: rounds.present.map(each => each[figure]),
    other: rounds.other.map(each => each[figure]),
  });
  return {
    title: load.title,
    figures: [
      ...(load.rate === null
        ? [{ name: 'requests/s', decimals: 0, better: 'more' as const, ...of('requestsPerSecond') }]
        : []),
      { name: 'CPU µs', decimals: 2, better: 'less', ...of('cpuMicros') },
      { name: 'p99 ms', decimals: 3, better: 'less', ...of('p99Ms') },
    ],
  };
}

function comparedMemory({ contestant, atRest, afterLoad }: MemoryResult): Compared {
  const megabytes = (bytes: readonly number[]): number[] => bytes.map(each => each / 1e6);
  const figure = (name: string, { present, other }: MemoryResult['atRest']): ComparedFigure => ({
    name,
    decimals: 1,
    better: 'less',
    present: megabytes(present),
    other: megabytes(other),
  });
  return {
    title: `${CONTESTANTS[contestant].title}, memory`,
    figures: [figure('RSS MB at rest', atRest), figure('RSS MB after the loads', afterLoad)],
  };
}
