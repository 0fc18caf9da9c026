import type { EntryText } from '../../../exam/decisions/rule-file.ts';
import type { SeededRandom } from '../../../support/seeded-random.ts';
import type { SteeringStep, Step } from './step.ts';

const MOST_RECORDS = 3;
/** Rules whose state depends on their limit, so that an override means more than another number. */
const OTHERS = ['sliding', 'bucket', 'slots', 'budget'];

/** What an operator does at a time; nothing if there is no rule for it. */
export function randomSteering(
  random: SeededRandom,
  rules: readonly EntryText[],
  { at, spanMs }: { readonly at: number; readonly spanMs: number },
): Step[] {
  const targets = rules.filter(({ key }) => !OTHERS.includes(key));
  if (targets.length === 0 || rules.some(({ holder }) => holder !== undefined)) return [];
  const records = new Map<string, SteeringStep>();
  for (let i = random.below(MOST_RECORDS + 1); i > 0; i--) {
    const { key } = random.pick(targets);
    const of = random.below(3) === 0 ? key : `${key}=v${random.below(2)}`;
    const kind = random.pick(['override', 'override', 'ban', 'pass'] as const);
    const untilS = 1 + random.below(Math.ceil(spanMs / 1_000));
    const limit = kind === 'override' ? { requestsPerUnit: random.below(12) } : {};
    records.set(`${kind} ${of}`, { kind, of, untilS, ...limit });
  }
  return [{ at, do: 'steer', records: [...records.values()] }];
}
