import type { EventStreams } from './event-streams.ts';
import { choice, flag, list, number, object, orNull, text, time, type ValueOf, whole } from './fields.ts';
import { RATE_POINT } from './figures.ts';
import { DIGEST } from './loads-routes.ts';
import { REFUSALS } from './refusal.ts';
import { type OperatorRoute, reads } from './route.ts';

const LATENCY = object(
  { p50_ms: orNull(number()), p99_ms: orNull(number()) },
  'In milliseconds, exact to about 30 %; null without traffic.',
);

const PROCESS = { id: text(), host: text(), pid: whole(), started: time() };

/** A process that decides. Rates are those of its own requests; null if they are not known yet. */
const PROCESS_SCHEMA = object({
  ...PROCESS,
  // When the process was last known to run.
  seen: time(),
  version: text(),
  hits_per_second: orNull(number()),
  rejected_per_second: orNull(number()),
  // When its active rules were loaded.
  rules_loaded: orNull(time()),
  rules_digest: orNull(DIGEST),
  // Why newer rules are not active; null if the active rules are the latest.
  rules_error: orNull(text()),
  is_this: flag(),
});

export type ProcessView = ValueOf<typeof PROCESS_SCHEMA>;

const STATUS = object({
  time: time(),
  version: text(),
  process: object(PROCESS),
  healthy: flag(),
  components: list(
    object({ name: text(), healthy: flag(), note: orNull(text('Usually why it does not work.')) }),
  ),
  store: object({
    type: choice(['embedded', 'redis', 'memcached']),
    address: text('Without credentials.'),
    connected: flag('False during an outage of the store.'),
    failure_mode: text('STORE_FAILURE_MODE.'),
  }),
  threads: object({ serving: whole(), deciding: whole() }),
  rules: object({
    domains: whole(),
    limits: whole(),
    loaded: orNull(time('When the active rules were loaded.')),
    digest: orNull(DIGEST),
    faults: whole('Faults of the last load, if its rules are not the active ones.'),
  }),
  latency: object({
    seconds: number('The figures are those of this many seconds.'),
    decision: LATENCY,
    store: { ...LATENCY, description: 'The part of a decision in the counter store.' },
    batch: object(
      { requests_p50: orNull(number()), requests_p99: orNull(number()) },
      'Requests that were decided together.',
    ),
  }),
  processes: list(
    PROCESS_SCHEMA,
    'The processes that share the counter store, as far as they are known; this one first.',
  ),
  admin: object({
    changes: choice(['enabled', 'no_token'], 'Whether a token for changes is configured.'),
  }),
  tasks: object({ enabled: flag('Whether the process serves tasks.') }),
  rates: orNull({ ...RATE_POINT, description: 'Hits of all limits in the last seconds.' }),
});

/** The answer of `GET /status`. */
export type StatusView = Omit<ValueOf<typeof STATUS>, 'rates'> & { readonly rates: object | null };

/** `GET /status`, and `GET /events`, which sends it every second. */
export function statusRoutes(status: () => Promise<StatusView>, streams: EventStreams): OperatorRoute[] {
  return [
    {
      ...reads(
        '/status',
        'getStatus',
        'Read the health, the store, the rules and the latency of the process, and the other processes',
      ),
      answer: { description: 'The status.', schema: { ...STATUS, name: 'Status' } },
      handle: async () => ({ json: await status() }),
    },
    {
      ...reads(
        '/events',
        'streamEvents',
        'Receive the status every second, and rejections as they happen, as server-sent events',
      ),
      answer: {
        description:
          'The event `status` has the answer of `/status`. The event `rejections` has the rejections since the last event.',
        schema: object({
          refusals: REFUSALS,
          left_out: whole('Recorded rejections that the event does not list.'),
        }),
      },
      stream: exchange => streams.open(exchange),
      stop: () => streams.stop(),
    },
  ];
}
