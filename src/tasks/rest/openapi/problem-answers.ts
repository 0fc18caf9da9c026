import type { JsonSchema } from '../../../base/schema/openapi-schema.ts';
import { NAMED } from '../checks/example-names.ts';
import { PROBLEMS, type ProblemCode, problemType } from '../checks/problem-list.ts';

const CODES = Object.keys(PROBLEMS) as ProblemCode[];

/** The schema of a problem. */
export const PROBLEM: JsonSchema = {
  type: 'object',
  description: 'RFC 9457.',
  properties: {
    type: {
      type: 'string',
      format: 'uri-reference',
      description: 'The address of a page that explains the code, relative to the address of the request.',
    },
    title: {
      type: 'string',
      description: 'The code in words. It is the same in every problem with this code.',
    },
    status: { type: 'integer', description: 'The HTTP status.' },
    code: { type: 'string', enum: CODES },
    detail: { type: 'string', description: 'What is wrong with this request, where, and what is accepted.' },
    instance: { type: 'string', description: 'The id of the request.' },
    errors: {
      type: 'array',
      description: 'All faults of fields and parameters, if the problem is about some.',
      items: {
        type: 'object',
        properties: {
          pointer: {
            type: 'string',
            format: 'json-pointer',
            description: 'The place in the body (RFC 6901).',
          },
          parameter: { type: 'string', description: 'Or the name of a query parameter or header field.' },
          code: { type: 'string' },
          detail: { type: 'string' },
        },
        required: ['code', 'detail'],
      },
    },
  },
  required: ['type', 'title', 'status', 'code', 'detail', 'instance'],
};

/**
 * An example of each problem, by code. The description has two paragraphs: what has happened, and what the caller can
 * do.
 */
export function problemExamples(): Record<string, object> {
  return Object.fromEntries(
    CODES.map(code => {
      const { status, title, meaning, remedy } = PROBLEMS[code];
      const detail = meaning.replaceAll('`', '');
      const value = { type: problemType(code), title, status, code, detail, instance: NAMED.ids.request };
      return [code, { summary: title, description: `${meaning}\n\n${remedy}`, value }];
    }),
  );
}

const REQUEST_ID = { $ref: '#/components/headers/RequestId' };
const RETRY_AFTER = { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } };

/** Header fields of some statuses, in addition to those of all responses. */
const OF_STATUS: Readonly<Record<number, object>> = {
  201: { Location: { $ref: '#/components/headers/Location' } },
  401: { 'WWW-Authenticate': { $ref: '#/components/headers/WwwAuthenticate' } },
  429: RETRY_AFTER,
  503: RETRY_AFTER,
};

/** The header fields that {@link headersOf} refers to, for `components.headers`. */
export const ANSWER_HEADERS = {
  RequestId: {
    description:
      'The id of the request: the `X-Request-Id` of the caller if it is valid, otherwise a new one.',
    schema: { type: 'string' },
  },
  RetryAfter: {
    description: 'After how many seconds the request can be repeated.',
    schema: { type: 'integer', minimum: 0 },
  },
  Location: { description: 'The path of the new resource.', schema: { type: 'string' } },
  WwwAuthenticate: {
    description: 'The scheme of authentication, and the reason why the credentials were rejected.',
    schema: { type: 'string' },
  },
} as const;

/** The header fields of responses with this status. */
export function headersOf(status: number): object {
  return { 'X-Request-Id': REQUEST_ID, ...OF_STATUS[status] };
}

/** Collects the responses with problems for `components.responses`, because most operations have the same ones. */
export class ProblemAnswers {
  readonly #used = new Map<string, object>();

  /** One response for each status, with its problem codes. */
  of(codes: readonly ProblemCode[]): Record<string, object> {
    const byStatus = new Map<number, Set<ProblemCode>>();
    for (const code of codes) {
      const { status } = PROBLEMS[code];
      byStatus.set(status, (byStatus.get(status) ?? new Set()).add(code));
    }
    return Object.fromEntries(
      [...byStatus].map(([status, ofStatus]) => [String(status), this.#reference(status, [...ofStatus])]),
    );
  }

  /** By name. */
  all(): Record<string, object> {
    return Object.fromEntries([...this.#used].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #reference(status: number, codes: readonly ProblemCode[]): object {
    const name = [status, ...codes.toSorted()].join('.');
    this.#used.set(name, problemAnswer(status, codes.toSorted()));
    return { $ref: `#/components/responses/${name}` };
  }
}

function problemAnswer(status: number, codes: readonly ProblemCode[]): object {
  return {
    description: codes.map(code => `\`${code}\`: ${PROBLEMS[code].title}.`).join(' '),
    headers: headersOf(status),
    content: {
      'application/problem+json': {
        schema: { $ref: '#/components/schemas/Problem' },
        examples: Object.fromEntries(codes.map(code => [code, { $ref: `#/components/examples/${code}` }])),
      },
    },
  };
}
