import type { EntryText } from '../../../exam/decisions/rule-file.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { randomAsk } from './random-asks.ts';
import { editedRules, randomRules } from './random-rules.ts';
import { randomSteering } from './random-steering.ts';
import { FAILURE_MODES, type History, STORE_FAULTS, type Step, type StoreKind } from './step.ts';

/** When a history begins: a little before windows end, or at any time. */
const STARTS = [
  '2026-03-01T12:00:00Z',
  '2026-03-01T12:00:52.400Z',
  '2026-03-01T12:59:50Z',
  '2026-03-31T23:59:40Z',
  '2026-12-31T23:59:55Z',
  '2028-02-29T23:59:30Z',
];
/** How long histories last, in milliseconds. */
const SPANS = [3_000, 20_000, 20_000, 90_000, 90_000, 600_000, 7_200_000];
const AHEAD_MS = [0, 0, 1, 40, 800, -1_500, 30_000];

/** How long after an outage all instances use the store again. */
const RECOVERED_MS = 2_500;
/** More often than most limits allow. */
const ASKED_AGAIN = 9;

/** One history in so many is plain. */
const PLAIN_ONE_IN = 6;

interface Scene {
  readonly random: SeededRandom;
  readonly store: StoreKind;
  readonly instances: number;
  /** Whether all that is asked is plain, so that the model of calls knows it. */
  readonly arePlain: boolean;
  readonly spanMs: number;
}

/** A history that follows from its seed alone. */
export function randomHistory(seed: number): History {
  const random = new SeededRandom(seed);
  const store = random.pick(['threads', 'server', 'server'] as const);
  const instances = 1 + random.below(4);

  const arePlain = random.below(PLAIN_ONE_IN) === 0;
  const rules = randomRules(random, arePlain);
  const scene = { random, store, instances, arePlain, spanMs: random.pick(SPANS) };
  const isSkewed = store === 'server' && random.below(3) === 0;
  return {
    ...{ seed, store, start: random.pick(STARTS), instances },
    aheadMs: Array.from({ length: instances }, () => (isSkewed ? random.pick(AHEAD_MS) : 0)),
    delayMs: random.pick([0, 1, 2, 20]),
    failureMode: store === 'threads' || arePlain ? 'error' : random.pick(FAILURE_MODES),
    holdsBack: random.below(3) === 0,
    hasLocalCache: random.below(3) > 0,
    modes: { shadow: random.below(12) === 0 && !arePlain, quota: random.below(12) === 0 && !arePlain },
    rules,
    steps: randomSteps(scene, rules),
  };
}

function randomSteps(scene: Scene, rules: readonly EntryText[]): Step[] {
  const { random, spanMs } = scene;
  const edits = random.below(2) === 0 || scene.arePlain ? 0 : 1 + random.below(4);
  const loads = Array.from({ length: edits }, () => random.below(spanMs)).sort((a, b) => a - b);
  /** The rules at each time, by which requests are made that meet them. */
  const versions = [{ at: 0, rules }];
  for (const at of loads) versions.push({ at, rules: editedRules(random, versions.at(-1)!.rules) });
  const steps = versions.slice(1).map(version => loadStep(scene, version));
  if (!scene.arePlain && random.below(4) === 0) {
    for (let i = 1 + random.below(3); i > 0; i--) {
      const at = random.below(spanMs);
      steps.push(
        ...randomSteering(random, versions.findLast(version => version.at <= at)!.rules, { at, spanMs }),
      );
    }
  }
  const bursts = 4 + random.below(40);
  const troubles = random.below(2) === 0 ? 0 : random.below(8);
  for (let i = 0; i < bursts; i++) {
    const at = random.below(spanMs);
    const current = versions.findLast(version => version.at <= at)!.rules;
    steps.push(...burst(scene, current, at));
  }
  // What is asked at the moment of a reload must see the new rules.
  for (const [number, { at, rules: loaded }] of versions.slice(1).entries()) {
    const edited = loaded.filter(rule => !versions[number].rules.includes(rule));
    steps.push(...askAll(scene, edited.length > 0 ? edited : loaded, at));
  }
  for (let i = 0; i < troubles; i++) {
    const trouble = randomTrouble(scene, random.below(spanMs));
    steps.push(trouble);
    if (trouble.do !== 'outage') continue;
    // What is asked during an outage is asked again when it is over.
    const { at, ms } = trouble;
    const after = burst(scene, versions.findLast(version => version.at <= at)!.rules, at + ms + RECOVERED_MS);
    steps.push(...after, ...after.map(step => ({ ...step, at: at + Math.floor(ms / 2) })));
    for (let i = 0; i < ASKED_AGAIN; i++) steps.push({ ...after[0], at: at + Math.floor(ms / 3) });
  }
  return steps.toSorted((a, b) => a.at - b.at);
}

function loadStep(
  { random, store, instances }: Scene,
  version: { at: number; rules: readonly EntryText[] },
): Step {
  const isOfOne = store === 'server' && random.below(2) === 0;
  return {
    at: version.at,
    do: 'rules',
    instance: isOfOne ? random.below(instances) : null,
    rules: version.rules,
  };
}

/** Requests to one instance at the same moment, or to several ones shortly after each other. */
function burst({ random, instances, arePlain }: Scene, rules: readonly EntryText[], at: number): Step[] {
  const count = 1 + random.below(random.below(3) === 0 ? 16 : 4);
  const isTogether = random.below(2) === 0;
  const first = random.below(instances);
  return Array.from({ length: count }, () => {
    const instance = isTogether ? first : random.below(instances);
    const laterMs = isTogether ? 0 : random.below(4);
    return { at: at + laterMs, ...randomAsk(random, { rules, arePlain }, instance) };
  });
}

/** A request to each instance at the same moment. */
function askAll({ random, instances, arePlain }: Scene, rules: readonly EntryText[], at: number): Step[] {
  const all = Array.from({ length: instances }, (_, instance) => instance);
  return all.map(instance => ({ at, ...randomAsk(random, { rules, arePlain }, instance) }));
}

function randomTrouble({ random, store, instances }: Scene, at: number): Step {
  const instance = random.below(instances);
  if (store === 'threads') {
    switch (random.below(4)) {
      case 0:
        return { at, do: 'clock', instance, byMs: random.pick([500, 3_000, 61_000]) };
      case 1:
        return { at, do: 'clock', instance, byMs: -random.pick([5, 2_000, 90_000]) };
      case 2:
        return { at, do: 'fault', instance, kind: 'dies_after', ms: 0 };
      default:
        return { at, do: 'crash', instance, downMs: random.below(3_000) };
    }
  }
  const anyInstance = random.below(2) === 0 ? instance : null;
  switch (random.below(8)) {
    case 0:
      return { at, do: 'crash', instance, downMs: random.below(3_000) };
    case 1:
      return {
        at,
        do: 'clock',
        instance: random.below(4) === 0 ? null : instance,
        byMs: random.below(8_000) - 4_000,
      };
    case 2:
    case 3:
      return {
        at,
        do: 'outage',
        instance: anyInstance,
        ms: random.below(9_000),
        hangs: random.below(2) === 0,
      };
    default:
      return {
        ...{ at, do: 'fault', instance: anyInstance, kind: random.pick(STORE_FAULTS) },
        ms: random.pick([3, 200, 4_000, 7_000]),
      };
  }
}
