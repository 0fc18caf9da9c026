import { encodeRateLimitRequest, type RequestLease } from '../../../../messages/client-codec.ts';
import { OperatorProblem } from '../problem.ts';
import type { OperatorCall } from '../route.ts';

const MAX_ENTRIES = 64;
const MAX_TEXT = 4_096;

/** The descriptor whose counters are meant, in the body of a request. */
export const SELECTOR = {
  domain: { type: 'string', min: 1, max: MAX_TEXT },
  entries: {
    type: 'array',
    min: 1,
    max: MAX_ENTRIES,
    items: {
      type: 'object',
      properties: {
        key: { type: 'string', min: 1, max: MAX_TEXT },
        value: { type: 'string', max: MAX_TEXT, optional: true },
      },
    },
  },
} as const;

/** The same in the query. */
export const QUERY = {
  domain: SELECTOR.domain,
  descriptor: {
    type: 'string',
    min: 1,
    max: MAX_TEXT,
    description: 'The entries: `key=value,key=value`. Use POST for values with commas.',
  },
} as const;

export const REASON = { type: 'string', max: 256, optional: true, description: 'For the log.' } as const;

export interface Selector {
  readonly domain: string;
  readonly entries: readonly { readonly key: string; readonly value: string }[];
}

export function fromQuery({ query }: OperatorCall): Selector {
  const parts = String(query['descriptor']).split(',');
  if (parts.length > MAX_ENTRIES) throw badDescriptor(`has more than ${MAX_ENTRIES} entries`);
  const entries = parts.map(part => {
    const equals = part.indexOf('=');
    const key = equals < 0 ? part : part.slice(0, equals);
    if (key === '') throw badDescriptor('has an entry without a key; write key=value,key=value');
    return { key, value: equals < 0 ? '' : part.slice(equals + 1) };
  });
  return { domain: String(query['domain']), entries };
}

function badDescriptor(detail: string): OperatorProblem {
  const errors = [{ parameter: 'descriptor', code: 'invalid_parameter', detail }];
  return new OperatorProblem('invalid_parameter', `The parameter descriptor ${detail}.`, { errors });
}

export function fromBody({ body }: OperatorCall): Selector {
  const { domain, entries } = body as { domain: string; entries: { key: string; value?: string }[] };
  return { domain, entries: entries.map(({ key, value = '' }) => ({ key, value })) };
}

/** A request that checks the limits without hits. @param lease what it says about a lease; null for nothing */
export function requestOf({ domain, entries }: Selector, lease: RequestLease | null = null): Uint8Array {
  return encodeRateLimitRequest({
    domain,
    descriptors: [{ entries, limit: null, hitsAddend: 0, lease }],
    hitsAddend: 1,
  });
}
