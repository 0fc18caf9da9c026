import { isUtf8 } from 'node:buffer';
import type { ProblemPart } from '../../../base/schema/problem-part.ts';
import type { ArraySchema, ObjectSchema } from '../../../base/schema/schema.ts';
import type { SchemaCheck } from '../../../base/schema/schema-check.ts';
import { parseExactly } from '../checks/exact-json.ts';
import { countNames, type JsonExcess, repeatedName, scanJson } from '../checks/json-scan.ts';
import { invalidParameter, Problem, problemAt } from '../checks/problem.ts';
import type { ProblemCode } from '../checks/problem-list.ts';
import type { RestRequest } from './http.ts';
import type { Call } from './route.ts';

/** Maximum size of a request body (specification 3.13). */
export const BODY_LIMIT_BYTES = 6 * 1024 * 1024;
/** Maximum nesting depth. Serializing JSON is recursive. */
const MAX_DEPTH = 64;
/**
 * Maximum number of values and names in a body. Parsing this many takes at most a tenth of a second. Without the limit,
 * 6 MiB of `{}` take one second. A payload of 512 KiB always has fewer.
 */
const MAX_PARTS = 524_288;
/** Maximum length of a named segment of a path, which is an id or a name. */
const MAX_PARAM_LENGTH = 255;
const MAX_QUERY_LENGTH = 4_096;

const EMPTY: Readonly<Record<string, string>> = {};
const NO_BODY: Readonly<Record<string, unknown>> = {};

/**
 * Decodes the named segments of a path.
 *
 * @throws Problem `not_found` if a segment cannot be an id or a name
 */
export function readParams(params: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  let decoded: Record<string, string> | null = null;
  for (const name in params) {
    const text = params[name];
    if (text.length > MAX_PARAM_LENGTH) throw new Problem('not_found', 'A segment of the path is too long.');
    if (!text.includes('%')) continue;
    decoded ??= { ...params };
    const plain = decodedText(text);
    if (plain === null) throw new Problem('not_found', 'A segment of the path is not percent-encoded UTF-8.');
    decoded[name] = plain;
  }
  return decoded ?? params;
}

function decodedText(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/**
 * Reads the parameters of a query. Each may occur once, and must be one that the route accepts.
 *
 * @throws Problem `invalid_parameter` with all faults
 */
export function readQuery(text: string, accepted: ReadonlySet<string>): Readonly<Record<string, string>> {
  if (text === '') return EMPTY;
  if (text.length > MAX_QUERY_LENGTH) {
    throw new Problem('invalid_parameter', `The query has more than ${MAX_QUERY_LENGTH} characters.`);
  }
  const read: Record<string, string> = {};
  const errors: ProblemPart[] = [];
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const at = pair.indexOf('=');
    const name = decodedText((at === -1 ? pair : pair.slice(0, at)).replaceAll('+', ' '));
    const value = at === -1 ? '' : decodedText(pair.slice(at + 1).replaceAll('+', ' '));
    const detail = parameterFault(name, value, accepted, read);
    if (detail === null) read[name!] = value!;
    else errors.push({ parameter: (name ?? pair).slice(0, 64), code: 'invalid_parameter', detail });
  }
  if (errors.length > 0) {
    throw new Problem('invalid_parameter', errors[0].detail, { errors: errors.slice(0, 20) });
  }
  return read;
}

function parameterFault(
  name: string | null,
  value: string | null,
  accepted: ReadonlySet<string>,
  read: object,
): string | null {
  if (name === null || value === null) return 'The parameter is not percent-encoded UTF-8.';
  if (!accepted.has(name)) {
    const names = accepted.size === 0 ? 'none' : [...accepted].join(', ');
    return `${JSON.stringify(name.slice(0, 64))} is not a known parameter; known parameters are: ${names}`;
  }
  return Object.hasOwn(read, name) ? `The parameter ${name} occurs twice.` : null;
}

/**
 * Parses and checks the body of a request.
 *
 * @param optional whether an empty body stands for `{}`
 * @throws Problem `unsupported_media_type`, `body_too_large`, `invalid_json`, `unknown_field`, `validation_failed`, or the
 *   problem of a list with too many items
 */
export function readJsonBody(
  request: RestRequest,
  check: SchemaCheck,
  optional: boolean,
): Readonly<Record<string, unknown>> {
  const { body } = request;
  if (body.length > BODY_LIMIT_BYTES) throw bodyTooLarge();
  if (body.length === 0) {
    if (!optional) throw new Problem('invalid_json', 'The body is empty. It must be a JSON object.');
    return NO_BODY;
  }
  if (!isJsonType(request.headers['content-type'])) {
    throw new Problem(
      'unsupported_media_type',
      'The body must be JSON in UTF-8. Send the header `Content-Type: application/json`.',
      {
        headers: { 'Accept-Post': 'application/json' },
      },
    );
  }
  const value = parseJson(body, check);
  const errors = check(value);
  if (errors === null) return value as Readonly<Record<string, unknown>>;
  throw schemaProblem(errors);
}

/** The problem for the faults that a schema has found. Its code and detail are those of one of the faults. */
export function schemaProblem(errors: readonly ProblemPart[]): Problem {
  const unknown = errors.find(error => error.code === 'unknown_field');
  const { detail } = unknown ?? errors[0];
  const more = errors.length === 1 ? '' : ` (and ${errors.length - 1} more; see errors)`;
  return new Problem(unknown === undefined ? 'validation_failed' : 'unknown_field', `${detail}${more}`, {
    errors,
  });
}

export function bodyTooLarge(): Problem {
  return new Problem(
    'body_too_large',
    `The body is larger than ${BODY_LIMIT_BYTES} bytes. Send fewer tasks in one request.`,
  );
}

/** A missing content type is accepted, because the body can only be JSON. */
function isJsonType(type: string | undefined): boolean {
  if (type === undefined || type === 'application/json') return true;
  const [name, ...parameters] = type.toLowerCase().split(';');
  if (name.trim() !== 'application/json') return false;
  return parameters.every(parameter => {
    const text = parameter.trim();
    return !text.startsWith('charset=') || /^charset="?utf-8"?$/.test(text);
  });
}

function parseJson(body: Uint8Array, { schema, counted }: SchemaCheck): unknown {
  if (!isUtf8(body)) throw new Problem('invalid_json', 'The body is not UTF-8.');
  const names = scanJson(body, { depth: MAX_DEPTH, parts: MAX_PARTS, items: counted });
  if (typeof names !== 'number') throw excessProblem(names, schema);
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
  let value: unknown;
  try {
    value = parseExactly(text, schema);
  } catch (thrown) {
    if (thrown instanceof RangeError) throw new Problem('invalid_json', thrown.message);
    throw new Problem('invalid_json', `The body is not valid JSON${placeIn(thrown)}.`);
  }
  if (countNames(value) < names) throw repeated(text);
  return value;
}

/**
 * Rejected because it is ambiguous which of two equal names counts (RFC 7493, section 2.3), and the parser would drop one
 * of them silently. A payload would then reach the worker incomplete.
 */
function repeated(text: string): Problem {
  const pointer = repeatedName(text) ?? '';
  const detail = `${pointer} occurs twice. Names in an object must be unique, also in a payload.`;
  return new Problem('invalid_json', detail, {
    errors: [{ pointer, code: 'repeated_name', detail: 'occurs twice' }],
  });
}

function excessProblem(excess: JsonExcess, { properties }: ObjectSchema): Problem {
  switch (excess.kind) {
    case 'depth':
      return new Problem('invalid_json', `The body is nested more than ${MAX_DEPTH} levels deep.`);
    case 'parts':
      return new Problem(
        'body_too_large',
        `The body has more than ${MAX_PARTS} values and names. Send fewer tasks in one request, or large data as a string.`,
      );
    case 'items': {
      const { name, max } = excess;
      const detail = `/${name} must have at most ${max} items`;
      const code = (properties[name] as ArraySchema).tooMany as ProblemCode;
      return problemAt({ pointer: `/${name}` }, code, detail);
    }
  }
}

/** The position of the syntax error. The full message of the parser quotes the text, which may contain a secret. */
function placeIn(thrown: unknown): string {
  const message = String(thrown);
  if (message.includes('end of JSON')) return ': it ends unexpectedly';
  const match = /at position (\d+)/.exec(message);
  return match === null ? '' : `: error at character ${match[1]}`;
}

/**
 * Reads a query parameter that is `true` or `false`; false if it is left out.
 *
 * @throws Problem `invalid_parameter`
 */
export function readFlag(call: Pick<Call, 'query'>, name: string): boolean {
  const text = call.query[name];
  if (text === undefined || text === '' || text === 'false') return false;
  if (text === 'true') return true;
  throw invalidParameter(name, `${name} must be true or false`);
}
