import type { Progress } from '../../support/progress.ts';
import { type Store, serviceOn } from '../decisions/contestants.ts';
import type { Field } from '../decisions/field.ts';
import type { Figures } from '../decisions/figures.ts';
import { type Durations, measure } from '../decisions/measure.ts';
import type { Scenario, ScenarioPattern } from '../decisions/scenario.ts';
import { OpenPage, type ViewName } from './open-page.ts';

/** The longest interval in which a view reads something. */
export const LEAST_PAGE_MS = 10_000;

/**
 * What is asked while a view is open: many keys, requests that are all rejected, which the page receives as events, and
 * very many rules, which it sorts.
 */
const USUAL: readonly (readonly [Store, ScenarioPattern, ViewName])[] = [
  ['embedded', 'keys', 'overview'],
  ['embedded', 'over', 'overview'],
  ['embedded', 'over', 'limit'],
  ['embedded', 'rules', 'overview'],
  ['redis', 'keys', 'overview'],
  ['redis', 'over', 'overview'],
];

/** A load, and the view that is open in half of its measurements. */
export interface LivePageScenario {
  readonly scenario: Scenario;
  readonly view: ViewName;
}

/** The highest rate of one service, with the page closed and open in turns. */
export interface LivePageResult extends LivePageScenario {
  readonly rounds: readonly { readonly closed: Figures; readonly open: Figures }[];
}

interface LivePageLoad {
  readonly field: Field;
  readonly scenarios: readonly LivePageScenario[];
  readonly rounds: number;
  readonly durations: Durations;
  readonly folder: string;
  readonly progress: Progress;
}

export function livePageScenarios(stores: readonly Store[]): LivePageScenario[] {
  return USUAL.filter(([store]) => stores.includes(store)).map(([store, pattern, view]) => {
    const contestant = serviceOn(store, pattern === 'rules' ? 'many' : 'few');
    return { scenario: { front: 'grpc', pattern, connections: '8x32', contestants: [contestant] }, view };
  });
}

/** Measures the same service with a page and without, first without and first with it in turns. */
export async function measureLivePage({
  scenarios,
  rounds,
  progress,
  ...load
}: LivePageLoad): Promise<LivePageResult[]> {
  const results = scenarios.map(each => ({
    ...each,
    rounds: [] as { closed: Figures; open: Figures }[],
  }));
  for (let round = 0; round < rounds; round++) {
    for (const { scenario, view, rounds: done } of results) {
      const take = (name: ViewName | null): Promise<Figures> => {
        progress.step(`live page, ${scenario.contestants[0]}, ${scenario.pattern}: ${name ?? 'closed'}`);
        return measureWith(name, scenario, load);
      };
      if (round % 2 === 0) done.push({ closed: await take(null), open: await take(view) });
      else {
        const open = await take(view);
        done.push({ closed: await take(null), open });
      }
    }
  }
  return results;
}

async function measureWith(
  view: ViewName | null,
  scenario: Scenario,
  load: Pick<LivePageLoad, 'field' | 'durations' | 'folder'>,
): Promise<Figures> {
  const [contestant] = scenario.contestants;
  const { service } = load.field.of(contestant);
  const page = view === null || service === null ? null : await OpenPage.open(service.ports.debug, view);
  try {
    return await measure({ ...load, scenario, contestant, callsPerSecond: null });
  } finally {
    await page?.close();
  }
}
