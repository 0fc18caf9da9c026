import {
  choice,
  type Fields,
  flag,
  list,
  object,
  objectSchema,
  objectView,
  optional,
  orNull,
  text,
  time,
  timeText,
  whole,
} from '../fields.ts';
import { DIGEST } from '../loads-routes.ts';
import { OperatorProblem } from '../problem.ts';
import { type OperatorRoute, reads } from '../route.ts';
import type { ProcessView } from '../status-routes.ts';
import { INSTANCE_STATES, instanceState } from './instance-state.ts';

/** The instances that share the counter store. */
export interface KnownInstances {
  /** This process first. */
  readonly instances: readonly ProcessView[];
  /** False if this process cannot know of others, because the counters are not in Redis. */
  readonly isShared: boolean;
  /** False if there may be more at present: Redis is unavailable or has just lost data, or there are too many. */
  readonly isComplete: boolean;
}

/** An instance, asked for a digest. */
interface Asked {
  readonly instance: ProcessView;
  readonly digest: string;
  readonly nowMs: number;
}

const INSTANCE: Fields<Asked> = {
  id: [text(), ({ instance }) => instance.id],
  host: [text(), ({ instance }) => instance.host],
  pid: [whole(), ({ instance }) => instance.pid],
  version: [text(), ({ instance }) => instance.version],
  started: [time(), ({ instance }) => instance.started],
  seen: [time('When the instance was last known to run.'), ({ instance }) => instance.seen],
  is_this: [flag(), ({ instance }) => instance.is_this],
  state: [
    choice(
      INSTANCE_STATES,
      '`applied`: it uses the rules. `refused`: the latest rules are not active there; see `error`. `silent`: it was not ' +
        'heard of for seven seconds. `unknown`: it has no rules, or is of a version that does not tell. `behind`: it uses ' +
        'other rules.',
    ),
    ({ instance, digest, nowMs }) => instanceState(instance, digest, nowMs),
  ],
  digest: [orNull(DIGEST), ({ instance }) => instance.rules_digest],
  loaded: [orNull(time('When its active rules were loaded.')), ({ instance }) => instance.rules_loaded],
  error: [
    orNull(text('Why newer rules are not active; null if the active rules are the latest.')),
    ({ instance }) => instance.rules_error,
  ],
};

const ROLLOUT = object({
  time: time(),
  digest: text('The digest that was asked for.'),
  applied: flag('True if all instances use rules with this digest: `complete`, and each one `applied`.'),
  shared: flag(
    'False if the instances of the store do not know of each other: the counters are not in Redis.',
  ),
  complete: flag(
    'False if there may be more instances: Redis is unavailable or has just lost data, or there are over 1,000.',
  ),
  instances: list(objectSchema(INSTANCE, { name: 'RolloutInstance' }), 'This process first.'),
});

/** `GET /rollout`. */
export function rolloutRoutes(known: () => Promise<KnownInstances>): OperatorRoute[] {
  return [
    {
      ...reads('/rollout', 'getRollout', 'Ask whether all instances that share the store use the same rules'),
      query: {
        digest: optional({
          type: 'string',
          pattern: /^[0-9a-fA-F]{12,64}$/,
          accepts: 'be 12 to 64 hex digits',
          description: 'The digest of rules, or its beginning. By default that of the rules of this process.',
        }),
      },
      answer: { description: 'The instances, and whether all of them use the rules.', schema: ROLLOUT },
      problems: ['no_rules'],
      handle: async ({ query, nowMs }) => {
        const { instances, isShared, isComplete } = await known();
        const digest = String(query['digest'] ?? ownDigest(instances)).toLowerCase();
        const asked = instances.map(instance => ({ instance, digest, nowMs }));
        const isEverywhere = instances.every(each => instanceState(each, digest, nowMs) === 'applied');
        return {
          json: {
            time: timeText(nowMs),
            digest,
            applied: isComplete && isEverywhere,
            shared: isShared,
            complete: isComplete,
            instances: asked.map(each => objectView(INSTANCE, each)),
          },
        };
      },
    },
  ];
}

/** @throws OperatorProblem if this process has no rules */
function ownDigest(instances: readonly ProcessView[]): string {
  const own = instances.find(({ is_this }) => is_this)?.rules_digest ?? null;
  if (own !== null) return own;
  throw new OperatorProblem('no_rules', 'No rules are loaded. Ask for a digest: /rollout?digest=DIGEST.');
}
