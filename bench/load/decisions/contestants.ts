import { LIMIT_KIND_NAMES, LIMIT_KINDS, type LimitKindName } from './limit-kinds.ts';

export const STORES = ['embedded', 'redis'] as const;
export type Store = (typeof STORES)[number];

export interface Contestant {
  readonly title: string;
  readonly store: Store;
  /** Rules that the requests of a scenario are spread over, beside those of the patterns. */
  readonly routes: number;
  readonly localCacheBytes: number;
  /** `HTTP_SERVER_ENGINE`; its default without it. */
  readonly engine?: 'node';
  /** The kind of the limits on the key that the patterns `hot` and `keys` ask for; plain without it. */
  readonly limits?: LimitKindName;
  /** Whether the rules say how HTTP requests become descriptors. */
  readonly maps?: true;
  /** Further settings. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Settings whose cost is measured. */
const FEATURES = {
  explained: {
    title: 'explained refusals',
    env: { ANSWER_RETRY_AFTER: 'true', ANSWER_RATELIMIT_HEADERS: 'true', ANSWER_PROBLEM_BODY: 'true' },
  },
  unrecorded: { title: 'without hot keys', env: { HOT_KEYS_ENABLED: 'false' } },
  // Another process of the same service.
  'unrecorded-too': { title: 'without hot keys, again', env: { HOT_KEYS_ENABLED: 'false' } },
} as const;

const USUAL_CONTESTANTS = {
  embedded: { title: 'embedded', store: 'embedded', routes: 10, localCacheBytes: 0 },
  'embedded-node': {
    title: 'embedded, HTTP engine node',
    store: 'embedded',
    routes: 10,
    localCacheBytes: 0,
    engine: 'node',
  },
  redis: { title: 'Redis', store: 'redis', routes: 10, localCacheBytes: 0 },
  'redis-cached': { title: 'Redis, local cache', store: 'redis', routes: 10, localCacheBytes: 16_777_216 },
  'embedded-rules': {
    title: 'embedded, 100 000 rules',
    store: 'embedded',
    routes: 100_000,
    localCacheBytes: 0,
  },
  'redis-rules': { title: 'Redis, 100 000 rules', store: 'redis', routes: 100_000, localCacheBytes: 0 },
  baseline: { title: 'baseline', store: 'redis', routes: 10, localCacheBytes: 0 },
  // A server that answers without a decision, over HTTP alone.
  hello: { title: 'uWebSockets.js hello world', store: 'embedded', routes: 0, localCacheBytes: 0 },
  // Another service; its own name is in `Plan.peer`.
  peer: { title: 'peer', store: 'redis', routes: 10, localCacheBytes: 0 },
} as const satisfies Record<string, Contestant>;

/** The service on a store, with one kind of limits. */
type WithLimits = `${Store}-limits-${LimitKindName}`;
/** The service on a store, with other settings. */
type WithSettings = `${Store}-${keyof typeof FEATURES}`;
/** The service on a store, with rules that map requests. */
type Mapping = `${Store}-maps`;
export type ContestantName = keyof typeof USUAL_CONTESTANTS | WithLimits | WithSettings | Mapping;

/** What is measured: the service on a store, or what it is compared with. */
export const CONTESTANTS: Readonly<Record<ContestantName, Contestant>> = {
  ...USUAL_CONTESTANTS,
  ...(Object.fromEntries(
    STORES.flatMap(store =>
      LIMIT_KIND_NAMES.map(limits => {
        const title = `${USUAL_CONTESTANTS[store].title}, ${LIMIT_KINDS[limits].title}`;
        return [serviceWithLimits(store, limits), { title, store, routes: 10, localCacheBytes: 0, limits }];
      }),
    ),
  ) as Record<WithLimits, Contestant>),
  ...(Object.fromEntries(
    STORES.flatMap(store =>
      Object.entries(FEATURES).map(([name, { title, env }]): [string, Contestant] => [
        `${store}-${name}`,
        { ...USUAL_CONTESTANTS[store], title: `${USUAL_CONTESTANTS[store].title}, ${title}`, env },
      ]),
    ),
  ) as Record<WithSettings, Contestant>),
  ...(Object.fromEntries(
    STORES.map(store => [serviceThatMaps(store), { ...USUAL_CONTESTANTS[store], maps: true }]),
  ) as Record<Mapping, Contestant>),
};

/** The contestant that is the service on a store, with few rules or with very many. */
export function serviceOn(store: Store, rules: 'few' | 'many'): ContestantName {
  return rules === 'few' ? store : `${store}-rules`;
}

/** The contestant that is the service on a store, with rules that map requests. */
export function serviceThatMaps(store: Store): Mapping {
  return `${store}-maps`;
}

/** The contestant that is the service on a store, with one kind of limits. */
export function serviceWithLimits(store: Store, kind: LimitKindName): WithLimits {
  return `${store}-limits-${kind}`;
}
