import type { ObjectSchema } from '../../../base/schema/schema.ts';
import type { EventStreams } from './event-streams.ts';
import { RATE_POINT } from './figures.ts';
import { REFUSALS } from './refusal.ts';
import type { OperatorRoute } from './route.ts';

/** Quantiles in milliseconds; null without traffic. They are exact to about 30 %. */
interface Latency {
  readonly p50_ms: number | null;
  readonly p99_ms: number | null;
}

/** A process that decides. Rates are those of its own requests; null if they are not known yet. */
export interface ProcessView {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly started: string;
  /** When the process was last known to run. */
  readonly seen: string;
  readonly version: string;
  readonly hits_per_second: number | null;
  readonly rejected_per_second: number | null;
  /** When its active rules were loaded; null before the first load. */
  readonly rules_loaded: string | null;
  readonly is_this: boolean;
}

/** The answer of `GET /status`. */
export interface StatusView {
  readonly time: string;
  readonly version: string;
  readonly process: Pick<ProcessView, 'id' | 'host' | 'pid' | 'started'>;
  readonly healthy: boolean;
  readonly components: readonly {
    readonly name: string;
    readonly healthy: boolean;
    readonly note: string | null;
  }[];
  readonly store: {
    readonly type: 'embedded' | 'redis' | 'memcached';
    readonly address: string;
    readonly connected: boolean;
    readonly failure_mode: string;
  };
  readonly threads: { readonly serving: number; readonly deciding: number };
  readonly rules: {
    readonly domains: number;
    readonly limits: number;
    readonly loaded: string | null;
    readonly faults: number;
  };
  readonly latency: {
    readonly seconds: number;
    readonly decision: Latency;
    readonly store: Latency;
    readonly batch: { readonly requests_p50: number | null; readonly requests_p99: number | null };
  };
  readonly processes: readonly ProcessView[];
  readonly admin: { readonly changes: 'enabled' | 'no_token' };
  readonly tasks: { readonly enabled: boolean };
  readonly rates: Record<string, unknown> | null;
}

const TIME = { type: 'string', format: 'date-time' } as const;
const TIME_OR_NULL = { ...TIME, nullable: true } as const;
const NUMBER_OR_NULL = { type: 'number', nullable: true } as const;
const COUNT = { type: 'number', integer: true } as const;
const LATENCY = {
  type: 'object',
  properties: { p50_ms: NUMBER_OR_NULL, p99_ms: NUMBER_OR_NULL },
  description: 'In milliseconds, exact to about 30 %; null without traffic.',
} as const;

const PROCESS = { id: { type: 'string' }, host: { type: 'string' }, pid: COUNT, started: TIME } as const;

const STATUS: ObjectSchema = {
  type: 'object',
  name: 'Status',
  properties: {
    time: TIME,
    version: { type: 'string' },
    process: { type: 'object', properties: PROCESS },
    healthy: { type: 'boolean' },
    components: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          name: { type: 'string' },
          healthy: { type: 'boolean' },
          note: { type: 'string', nullable: true, description: 'Usually why it does not work.' },
        },
      },
    },
    store: {
      type: 'object',
      properties: {
        type: { type: 'string', enum: ['embedded', 'redis', 'memcached'] },
        address: { type: 'string', description: 'Without credentials.' },
        connected: { type: 'boolean', description: 'False during an outage of the store.' },
        failure_mode: { type: 'string', description: 'STORE_FAILURE_MODE.' },
      },
    },
    threads: { type: 'object', properties: { serving: COUNT, deciding: COUNT } },
    rules: {
      type: 'object',
      properties: {
        domains: COUNT,
        limits: COUNT,
        loaded: { ...TIME_OR_NULL, description: 'When the active rules were loaded.' },
        faults: { ...COUNT, description: 'Faults of the last load, if its rules are not the active ones.' },
      },
    },
    latency: {
      type: 'object',
      properties: {
        seconds: { type: 'number', description: 'The figures are those of this many seconds.' },
        decision: LATENCY,
        store: { ...LATENCY, description: 'The part of a decision in the counter store.' },
        batch: {
          type: 'object',
          properties: { requests_p50: NUMBER_OR_NULL, requests_p99: NUMBER_OR_NULL },
          description: 'Requests that were decided together.',
        },
      },
    },
    processes: {
      type: 'array',
      description: 'The processes that share the counter store, as far as they are known; this one first.',
      items: {
        type: 'object',
        properties: {
          ...PROCESS,
          seen: TIME,
          version: { type: 'string' },
          hits_per_second: NUMBER_OR_NULL,
          rejected_per_second: NUMBER_OR_NULL,
          rules_loaded: TIME_OR_NULL,
          is_this: { type: 'boolean' },
        },
      },
    },
    admin: {
      type: 'object',
      properties: {
        changes: {
          type: 'string',
          enum: ['enabled', 'no_token'],
          description: 'Whether a token for changes is configured.',
        },
      },
    },
    tasks: {
      type: 'object',
      properties: { enabled: { type: 'boolean', description: 'Whether the process serves tasks.' } },
    },
    rates: { ...RATE_POINT, nullable: true, description: 'Hits of all limits in the last seconds.' },
  },
};

/** `GET /status`, and `GET /events`, which sends it every second. */
export function statusRoutes(status: () => Promise<StatusView>, streams: EventStreams): OperatorRoute[] {
  return [
    {
      method: 'GET',
      path: '/status',
      operation: 'getStatus',
      summary:
        'Read the health, the store, the rules and the latency of the process, and the other processes',
      access: 'read',
      answer: { description: 'The status.', schema: STATUS },
      handle: async () => ({ json: await status() }),
    },
    {
      method: 'GET',
      path: '/events',
      operation: 'streamEvents',
      summary: 'Receive the status every second, and rejections as they happen, as server-sent events',
      access: 'read',
      answer: {
        description:
          'The event `status` has the answer of `/status`. The event `rejections` has the rejections since the last event.',
        schema: {
          type: 'object',
          properties: {
            refusals: REFUSALS,
            left_out: { ...COUNT, description: 'Recorded rejections that the event does not list.' },
          },
        },
      },
      stream: exchange => streams.open(exchange),
      stop: () => streams.stop(),
    },
  ];
}
