import { writeFileSync } from 'node:fs';
import { describeMachine } from '../../support/machine.ts';
import { Progress } from '../../support/progress.ts';
import { limitTime } from '../../support/run.ts';
import { formatNumber } from '../../support/table.ts';
import { makeWorkFolder } from '../../support/work-folder.ts';
import { Field } from '../decisions/field.ts';
import type { Part, Plan } from '../decisions/plan.ts';
import { targetTable } from '../decisions/report.ts';
import { contestantsIn, runRounds, stepsOf } from '../decisions/rounds.ts';
import { storesOf } from '../decisions/scenario.ts';
import { type Target, target } from '../decisions/targets.ts';
import { type Comparison, comparisonsOf, comparisonTable, pageComparisons, rateShare } from './comparison.ts';
import { LEAST_PAGE_MS, livePageScenarios, measureLivePage } from './live-page.ts';
import { answersScenarios, hotKeysScenarios } from './scenarios.ts';

/** What a step takes beside the time in which it measures: checks, and loads that end. */
const OVERHEAD_MS_A_STEP = 2_500;
const BEFORE_AND_AFTER_MS = 60_000;

/** The least share of the rate without a feature. */
const LEAST_SHARES = { answers: 0.9, 'hot-keys': 0.98, 'live-page': 0.98 } as const;
const FEATURES = {
  answers: 'requests/s with explained refusals to those without',
  'hot-keys': 'requests/s with hot keys to those without',
  'live-page': 'requests/s with an open live page to those without',
} as const;
type OperatorPart = keyof typeof FEATURES;

/** Measures what features for operators cost: explained refusals, hot keys, and an open live page. */
export async function measureOperatorParts(plan: Plan): Promise<void> {
  const { parts, rounds, durations, firstWarmUpMs } = plan;
  const stores = storesOf(plan.selection.stores);
  const has = (part: Part): boolean => parts.includes(part);
  const answers = has('answers') ? answersScenarios(stores) : [];
  const hotKeys = has('hot-keys') ? hotKeysScenarios(stores) : [];
  const pages = has('live-page') ? livePageScenarios(stores) : [];
  const pageDurations = { ...durations, measuredMs: Math.max(durations.measuredMs, LEAST_PAGE_MS) };
  const loadSteps = stepsOf(answers, rounds) + stepsOf(hotKeys, rounds);
  const pageSteps = pages.length * rounds * 2;
  limitTime(
    loadSteps * (firstWarmUpMs + durations.measuredMs + OVERHEAD_MS_A_STEP) +
      pageSteps * (pageDurations.warmUpMs + pageDurations.measuredMs + OVERHEAD_MS_A_STEP) +
      BEFORE_AND_AFTER_MS,
  );
  const folder = makeWorkFolder();
  const contestants = contestantsIn([...answers, ...hotKeys, ...pages.map(({ scenario }) => scenario)]);
  const field = await Field.start({ contestants, workers: plan.workers, folder });
  const progress = new Progress(loadSteps + pageSteps);
  const common = { field, folder, progress };
  try {
    const loads = { ...common, count: rounds, durations, firstWarmUpMs };
    const found: Readonly<Record<OperatorPart, readonly Comparison[]>> = {
      answers: comparisonsOf(await runRounds({ ...loads, scenarios: answers })),
      'hot-keys': comparisonsOf(await runRounds({ ...loads, scenarios: hotKeys })),
      'live-page': pageComparisons(
        await measureLivePage({ ...common, scenarios: pages, rounds, durations: pageDurations }),
      ),
    };
    progress.end();
    const targets = (Object.keys(found) as OperatorPart[]).flatMap(part => targetsOf(part, found[part]));
    console.log(
      [comparisonTable(Object.values(found).flat()), targetTable(targets)]
        .map(lines => lines.join('\n'))
        .join('\n\n'),
    );
    if (plan.jsonFile === undefined) return;
    writeFileSync(
      plan.jsonFile,
      `${JSON.stringify({ machine: describeMachine(), plan, ...found, targets }, null, 2)}\n`,
    );
  } finally {
    await field.stop();
  }
}

function targetsOf(part: OperatorPart, comparisons: readonly Comparison[]): Target[] {
  return comparisons.map(comparison =>
    target({
      title: `${comparison.others[comparison.others.length - 1].title}, ${comparison.title}: ${FEATURES[part]}`,
      value: rateShare(comparison),
      bound: LEAST_SHARES[part],
      is: 'at least',
      show: value => `${formatNumber(value * 100, 1)} %`,
    }),
  );
}
