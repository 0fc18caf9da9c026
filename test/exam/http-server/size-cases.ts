import {
  chunked,
  DECIDED,
  type HttpCase,
  head,
  oneChunk,
  outcome,
  post,
  posted,
  refused,
  SERVED,
} from './case.ts';

const KIB = 1024;

/** The largest body that `/json` takes. */
const LARGEST = 4 * KIB * KIB;

function fieldsOf(name: string, bytes: number, allows: HttpCase['allows']): HttpCase {
  return {
    name,
    rfc: '9110 5.4',
    allows,
    sends: ({ body }) => posted(body, `X-Field: ${'x'.repeat(bytes)}`),
  };
}

function manyFields(count: number, allows: HttpCase['allows']): HttpCase {
  const fields = Array.from({ length: count }, (_, i) => `X-${i}: v`);
  return { name: `${count} fields`, rfc: '9110 5.4', allows, sends: ({ body }) => posted(body, ...fields) };
}

/** A JSON body of exactly this many bytes. */
function filled(body: string, bytes: number): string {
  return body + ' '.repeat(bytes - body.length);
}

function saysTooLarge(answers: readonly { readonly body: string }[]): string | null {
  return answers[0].body.includes('"code":"body_too_large"')
    ? null
    : `not the answer of the route: ${answers[0].body}`;
}

/** Sizes (RFC 9110, 5.4; RFC 9112, 3; RFC 9110, 15.5.14). Fields may have 16 KiB by default. */
export const sizeCases: readonly HttpCase[] = [
  {
    name: 'target of 8000 bytes',
    rfc: '9112 3',
    sends: () => head(`GET /probe?${'x'.repeat(7_993)} HTTP/1.1`, 'Host: exam'),
    allows: SERVED,
  },
  {
    name: 'target of 128 KiB',
    rfc: '9112 3',
    sends: () => head(`GET /probe?${'x'.repeat(128 * KIB)} HTTP/1.1`, 'Host: exam'),
    allows: refused(400, 414, 431),
  },
  fieldsOf('field of 4 KiB', 4 * KIB, DECIDED),
  fieldsOf('field of 8 KiB', 8 * KIB, DECIDED),
  fieldsOf('field of 15 KiB', 15 * KIB, DECIDED),
  fieldsOf('field of 128 KiB', 128 * KIB, refused(431)),
  manyFields(50, DECIDED),
  manyFields(90, DECIDED),
  manyFields(200, [...DECIDED, ...refused(431)]),
  manyFields(20_000, refused(431)),
  {
    name: 'body of the largest size',
    rfc: '9110 15.5.14',
    sends: ({ body }) => posted(filled(body, LARGEST)),
    allows: DECIDED,
  },
  {
    name: 'chunked body of the largest size',
    rfc: '9110 15.5.14',
    sends: ({ body }) => chunked(oneChunk(filled(body, LARGEST))),
    allows: DECIDED,
  },
  {
    name: 'length beyond the largest size, before the body is there',
    rfc: '9110 15.5.14',
    sends: () => post([`Content-Length: ${LARGEST + 1}`], ''),
    allows: refused(413),
    check: saysTooLarge,
  },
  {
    name: 'body beyond the largest size, sent without a pause',
    rfc: '9110 15.5.14',
    sends: ({ body }) => posted(filled(body, LARGEST + 1)),
    allows: [...refused(413), outcome([413], 'open')],
    check: saysTooLarge,
  },
  {
    name: 'chunked body beyond the largest size',
    rfc: '9110 15.5.14',
    sends: ({ body }) => chunked(oneChunk(filled(body, LARGEST + 1))),
    allows: [...refused(413), outcome([413], 'open')],
    check: saysTooLarge,
  },
  {
    name: 'chunk that says to be larger than the largest size',
    rfc: '9110 15.5.14',
    sends: ({ body }) => chunked(`5000000\r\n${body}`),
    allows: refused(413),
  },
];
