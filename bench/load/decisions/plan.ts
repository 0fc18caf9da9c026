import { parseArgs } from 'node:util';
import {
  BadArguments,
  boundedNumber,
  listed,
  type NameList,
  wholeNumber,
  wholeNumbers,
} from '../../support/options.ts';
import { STORES } from './contestants.ts';
import { LIMIT_KIND_NAMES, type LimitKindName } from './limit-kinds.ts';
import type { Durations } from './measure.ts';
import { PATTERNS, type PatternName } from './patterns.ts';
import { type Peer, readPeer } from './peer.ts';
import { CONNECTIONS, type ConnectionsName, FRONTS, loadScenarios, type Selection } from './scenario.ts';

/** Parts of the bench, in their order. */
export const PARTS = [
  'load',
  'rules',
  'limits',
  'http-engines',
  'half-peak',
  'everyday',
  'reload',
  'answers',
  'hot-keys',
  'live-page',
  'check',
  'quota',
] as const;
export type Part = (typeof PARTS)[number];
/** Parts that compare small differences. They are run if they are named, and then without the others. */
const OPERATOR_PARTS: readonly Part[] = ['answers', 'hot-keys', 'live-page'];
/** Parts that are run only if they are named. */
const NAMED_PARTS: readonly Part[] = [...OPERATOR_PARTS, 'check', 'quota'];
/** Parts in which two builds can be compared. */
const AGAINST_PARTS: readonly Part[] = ['load', 'half-peak', 'everyday'];

/** A few proxies with many buckets, and very many proxies. */
const USUAL_PROXIES = '10x1000,1000x100';

/** Most proxies, and most buckets of a proxy: what a thread of the service takes. */
const MOST_PROXIES = 10_000;
const MOST_BUCKETS = 20_000;

export const USAGE = `npm run bench -- [--quick] [--only PART,…] [--store …] [--front …] [--pattern …] [--connections …]
                [--limits KIND,…] [--proxies PxB,…] [--rounds N] [--seconds N] [--workers N] [--no-baseline]
                [--peer NAME=COMMAND] [--json FILE]
       npm run bench -- --serve-threads N,… [options]
       npm run bench -- --against COMMIT [options]

Measures the service from end to end, compared with a simple implementation; see bench/README.md.
  --quick              few short rounds of all parts except limits, within 90 s, instead of 12 minutes
  --only PART,…        ${PARTS.join(', ')}.
                       The last five are run only if they are named. Of them, ${OPERATOR_PARTS.join(', ')}
                       compare small differences
  --store STORE,…      ${STORES.join(', ')}
  --front FRONT,…      ${FRONTS.join(', ')}
  --pattern NAME,…     ${Object.keys(PATTERNS).join(', ')}
  --connections N,…    ${Object.keys(CONNECTIONS).join(', ')}; with --pattern every combination is run
  --limits KIND,…      ${LIMIT_KIND_NAMES.join(', ')}: kinds of limits that the part limits compares with
                       plain ones
  --proxies PxB,…      numbers of proxies, and of the buckets that each of them reports, for the part quota;
                       ${USUAL_PROXIES} without it
  --rounds N           number of rounds, 1 to 50
  --seconds N          measured time of each run, 0.1 to 60
  --workers N          WORKER_THREADS of the service, 0 to 64; the default of the service without it
  --no-baseline        does not measure the simple implementation, and reports no ratios
  --peer NAME=COMMAND  also measures another v3 rate limit service over gRPC, with the same rules and Redis. It
                       gets the settings of envoyproxy/ratelimit in its environment: GRPC_PORT, REDIS_URL,
                       RUNTIME_ROOT and others
  --serve-threads N,…  instead of the parts: compares these values of SERVE_THREADS, 1 to 64, with one hot key and
                       100 000 keys over gRPC, at the highest rate of each and at half of the rate of the first
  --against COMMIT     instead of the parts: compares this build with that of a commit of this clone, in turns: the
                       parts ${AGAINST_PARTS.join(', ')}, and the memory. --rounds is 9 without it, and the
                       least for a confidence interval is 6
  --json FILE          writes all figures of all rounds to FILE as well`;

/** Proxies with quotas. All of them have the same buckets. */
export interface Proxies {
  readonly count: number;
  readonly buckets: number;
}

interface PacedPlan {
  readonly rounds: number;
  readonly durations: Durations;
}

export interface Plan {
  readonly parts: readonly Part[];
  readonly selection: Selection;
  /** Plain limits, and what is compared with them. */
  readonly limitKinds: readonly LimitKindName[];
  /** The proxies of the part about quotas, one after the other. */
  readonly proxies: readonly Proxies[];
  readonly rounds: number;
  readonly durations: Durations;
  readonly firstWarmUpMs: number;
  /** Rounds of the paced runs at half of the peak, and at an everyday rate, and what they measure. */
  readonly paced: PacedPlan;
  readonly everyday: PacedPlan;
  readonly workers: number | null;
  /** The numbers of serving threads to compare, instead of the parts; null for the parts. */
  readonly serveThreads: readonly number[] | null;
  /** The revision to compare this build with, instead of the parts; null for the parts. */
  readonly against: string | null;
  readonly peer: Peer | null;
  readonly jsonFile: string | undefined;
}

const FULL: Durations = { warmUpMs: 300, measuredMs: 1_500 };
const QUICK: Durations = { warmUpMs: 150, measuredMs: 500 };
/** Two builds are compared in many short rounds, because the number of rounds determines how certain a ratio is. */
const AGAINST: Durations = { warmUpMs: 300, measuredMs: 1_000 };
const AGAINST_PACED: Durations = { warmUpMs: 300, measuredMs: 1_500 };
const AGAINST_ROUNDS = '9';

/** Reads the command line. Throws BadArguments where it cannot be followed. */
export function readPlan(args: readonly string[]): Plan {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      store: { type: 'string' },
      front: { type: 'string' },
      pattern: { type: 'string' },
      connections: { type: 'string' },
      limits: { type: 'string' },
      proxies: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      workers: { type: 'string' },
      'serve-threads': { type: 'string' },
      against: { type: 'string' },
      peer: { type: 'string' },
      'no-baseline': { type: 'boolean', default: false },
      json: { type: 'string' },
    },
  });
  const { quick, seconds, workers } = values;
  const against = values.against ?? null;
  const usual = quick ? QUICK : against === null ? FULL : AGAINST;
  const measuredMs =
    seconds === undefined
      ? usual.measuredMs
      : boundedNumber(seconds, { name: '--seconds', min: 0.1, max: 60 }) * 1_000;
  const parts = namesIn(values.only, { name: '--only', known: PARTS });
  const usualParts =
    against === null
      ? PARTS.filter(part => !NAMED_PARTS.includes(part) && (part !== 'limits' || !quick))
      : AGAINST_PARTS;
  const usualRounds = against !== null ? AGAINST_ROUNDS : quick ? '3' : '5';
  const rounds = wholeNumber(values.rounds ?? usualRounds, { name: '--rounds', min: 1, max: 50 });
  const pacedAgainst: PacedPlan = {
    rounds,
    durations: { ...AGAINST_PACED, ...(seconds === undefined ? {} : { measuredMs }) },
  };
  const plan: Plan = {
    parts: parts.length > 0 ? parts : usualParts,
    selection: {
      stores: namesIn(values.store, { name: '--store', known: STORES }),
      fronts: namesIn(values.front, { name: '--front', known: FRONTS }),
      patterns: namesIn(values.pattern, { name: '--pattern', known: Object.keys(PATTERNS) as PatternName[] }),
      connections: namesIn(values.connections, {
        name: '--connections',
        known: Object.keys(CONNECTIONS) as ConnectionsName[],
      }),
      baseline: !values['no-baseline'],
      peer: values.peer !== undefined,
      quick,
    },
    limitKinds: limitKindsIn(values.limits),
    proxies: (values.proxies ?? USUAL_PROXIES).split(',').map(proxiesIn),
    rounds,
    durations: { ...usual, measuredMs },
    firstWarmUpMs: quick ? 600 : 2_000,
    paced:
      against !== null
        ? pacedAgainst
        : quick
          ? { rounds: 1, durations: { warmUpMs: 300, measuredMs: 1_500 } }
          : { rounds: 3, durations: { warmUpMs: 500, measuredMs: 3_000 } },
    everyday:
      against !== null
        ? pacedAgainst
        : quick
          ? { rounds: 1, durations: { warmUpMs: 300, measuredMs: 1_000 } }
          : { rounds: 3, durations: { warmUpMs: 300, measuredMs: 1_500 } },
    workers: workers === undefined ? null : wholeNumber(workers, { name: '--workers', min: 0, max: 64 }),
    serveThreads:
      values['serve-threads'] === undefined
        ? null
        : wholeNumbers(values['serve-threads'], { name: '--serve-threads', min: 1, max: 64 }),
    against,
    peer: values.peer === undefined ? null : readPeer(values.peer),
    jsonFile: values.json,
  };
  if (against !== null) {
    const without = (['serve-threads', 'limits', 'peer'] as const).find(name => values[name] !== undefined);
    if (without !== undefined) throw new BadArguments(`--against cannot be used with --${without}`);
    const unknown = plan.parts.find(part => !AGAINST_PARTS.includes(part));
    if (unknown !== undefined)
      throw new BadArguments(`--against compares ${AGAINST_PARTS.join(', ')}, and not ${unknown}`);
  }
  if (plan.serveThreads !== null) {
    const without = (['only', 'front', 'limits', 'peer'] as const).find(name => values[name] !== undefined);
    if (without !== undefined) throw new BadArguments(`--serve-threads cannot be used with --${without}`);
  } else if (plan.parts.includes('quota') && plan.parts.length > 1) {
    throw new BadArguments('quota cannot be run together with other parts');
  } else if (plan.parts.some(isOperatorPart) && !plan.parts.every(isOperatorPart)) {
    throw new BadArguments(`${OPERATOR_PARTS.join(', ')} cannot be run together with other parts`);
  } else if (plan.parts.includes('load') && loadScenarios(plan.selection).length === 0) {
    throw new BadArguments(
      'no usual scenario has all of that; with both --pattern and --connections any combination is run',
    );
  }
  return plan;
}

export function isOperatorPart(part: Part): boolean {
  return OPERATOR_PARTS.includes(part);
}

/** All where the option is not given. Plain limits are always among them: the others are compared with them. */
function limitKindsIn(text: string | undefined): LimitKindName[] {
  const wanted = namesIn(text, { name: '--limits', known: LIMIT_KIND_NAMES });
  return LIMIT_KIND_NAMES.filter(kind => kind === 'plain' || wanted.length === 0 || wanted.includes(kind));
}

/** For example `10x1000`. */
function proxiesIn(text: string): Proxies {
  const [count, buckets, ...others] = text.split('x');
  if (buckets === undefined || others.length > 0)
    throw new BadArguments(
      `--proxies ${text} is not a number of proxies and one of buckets, such as 10x1000`,
    );
  return {
    count: wholeNumber(count, { name: '--proxies', min: 1, max: MOST_PROXIES }),
    buckets: wholeNumber(buckets, { name: '--proxies', min: 1, max: MOST_BUCKETS }),
  };
}

/** Empty, which means all, where the option is not given. */
function namesIn<T extends string>(text: string | undefined, list: NameList<T>): T[] {
  return text === undefined ? [] : listed(text, list);
}
