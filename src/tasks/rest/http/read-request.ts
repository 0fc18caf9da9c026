import { isUtf8 } from 'node:buffer';
import { parseExactly } from '../checks/exact-json.ts';
import { countNames, type JsonExcess, repeatedName, scanJson } from '../checks/json-scan.ts';
import { invalidParameter, Problem, type ProblemPart } from '../checks/problem.ts';
import type { ArraySchema, ObjectSchema } from '../checks/schema.ts';
import type { SchemaCheck } from '../checks/schema-check.ts';
import type { RestRequest } from './http.ts';
import type { Call } from './route.ts';

/** The largest body of a request (specification 3.13). */
export const BODY_LIMIT_BYTES = 6 * 1024 * 1024;
/** Nobody nests deeper by intent; what writes JSON again recurses. */
const MAX_DEPTH = 64;
/**
 * Maximum number of values and names in a body. Parsing this many takes at most a tenth of a second. Without the limit,
 * 6 MiB of `{}` take one second. A payload of 512 KiB always has fewer.
 */
const MAX_PARTS = 524_288;
/** A named segment of a path is an id or a name. */
const MAX_PARAM_LENGTH = 255;
const MAX_QUERY_LENGTH = 4_096;

const EMPTY: Readonly<Record<string, string>> = {};
const NO_BODY: Readonly<Record<string, unknown>> = {};

/** Segments of a path, decoded. @throws Problem not_found when one cannot be an id or a name */
export function readParams(params: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  let decoded: Record<string, string> | null = null;
  for (const name in params) {
    const text = params[name];
    if (text.length > MAX_PARAM_LENGTH) throw new Problem('not_found', 'a segment of the path is too long');
    if (!text.includes('%')) continue;
    decoded ??= { ...params };
    const plain = decodedText(text);
    if (plain === null) throw new Problem('not_found', 'a segment of the path is not percent-encoded UTF-8');
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
 * The parameters of a query, each at most once and none that the route does not have.
 *
 * @throws Problem invalid_parameter with all that is wrong
 */
export function readQuery(text: string, accepted: ReadonlySet<string>): Readonly<Record<string, string>> {
  if (text === '') return EMPTY;
  if (text.length > MAX_QUERY_LENGTH) {
    throw new Problem('invalid_parameter', `the query has more than ${MAX_QUERY_LENGTH} characters`);
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
  if (name === null || value === null) return 'the parameter is not percent-encoded UTF-8';
  if (!accepted.has(name)) {
    const names = accepted.size === 0 ? 'none' : [...accepted].join(', ');
    return `there is no parameter ${JSON.stringify(name.slice(0, 64))} here; those there are: ${names}`;
  }
  return Object.hasOwn(read, name) ? `the parameter ${name} is there twice` : null;
}

/**
 * The body of a request, parsed and checked.
 *
 * @param optional an empty one is taken as `{}`
 * @throws Problem unsupported_media_type, body_too_large, invalid_json, unknown_field or validation_failed
 */
export function readJsonBody(
  request: RestRequest,
  check: SchemaCheck,
  optional: boolean,
): Readonly<Record<string, unknown>> {
  const { body } = request;
  if (body.length > BODY_LIMIT_BYTES) throw bodyTooLarge();
  if (body.length === 0) {
    if (!optional) throw new Problem('invalid_json', 'the body is empty: it has to be a JSON object');
    return NO_BODY;
  }
  if (!isJsonType(request.headers['content-type'])) {
    throw new Problem(
      'unsupported_media_type',
      'the body has to be JSON in UTF-8: Content-Type: application/json',
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

/** What a schema has found, as a problem whose code and detail are those of the same fault. */
export function schemaProblem(errors: readonly ProblemPart[]): Problem {
  const unknown = errors.find(error => error.code === 'unknown_field');
  const { pointer, detail } = unknown ?? errors[0];
  const where = pointer === '' || pointer === undefined ? 'the body' : pointer;
  const more = errors.length === 1 ? '' : ` (and ${errors.length - 1} more; see errors)`;
  const code = unknown === undefined ? 'validation_failed' : 'unknown_field';
  return new Problem(code, `${where}: ${detail}${more}`, { errors });
}

export function bodyTooLarge(): Problem {
  return new Problem(
    'body_too_large',
    `the body is larger than ${BODY_LIMIT_BYTES} bytes: send fewer tasks in one`,
  );
}

/** No type at all is taken as JSON: nothing else is accepted anyway. */
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
  if (!isUtf8(body)) throw new Problem('invalid_json', 'the body is not UTF-8');
  const names = scanJson(body, { depth: MAX_DEPTH, parts: MAX_PARTS, items: counted });
  if (typeof names !== 'number') throw excessProblem(names, schema);
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
  let value: unknown;
  try {
    value = parseExactly(text, schema);
  } catch (thrown) {
    if (thrown instanceof RangeError) throw new Problem('invalid_json', thrown.message);
    throw new Problem('invalid_json', `the body is not JSON${placeIn(thrown)}`);
  }
  if (countNames(value) < names) throw repeated(text);
  return value;
}

/**
 * Nobody can tell which of two equal names is meant (RFC 7493, 2.3), and the parser would silently drop one. That also
 * holds for payloads, which would otherwise reach the worker without a part of what was sent.
 */
function repeated(text: string): Problem {
  const pointer = repeatedName(text) ?? '';
  const detail = `${pointer} is there twice: an object may have each name once, also in a payload`;
  return new Problem('invalid_json', detail, {
    errors: [{ pointer, code: 'repeated_name', detail: 'the object has this name twice' }],
  });
}

function excessProblem(excess: JsonExcess, { properties }: ObjectSchema): Problem {
  switch (excess.kind) {
    case 'depth':
      return new Problem('invalid_json', `the body is nested more than ${MAX_DEPTH} levels deep`);
    case 'parts':
      return new Problem(
        'body_too_large',
        `the body has more than ${MAX_PARTS} values and names: send fewer tasks in one request, or large data as a string`,
      );
    case 'items': {
      const { name, max } = excess;
      const detail = `there are more than ${max} ${name}: send at most ${max} at once`;
      const code = (properties[name] as ArraySchema).tooMany!;
      return new Problem(code, detail, { errors: [{ pointer: `/${name}`, code, detail }] });
    }
  }
}

/** Where the text stops being JSON; the rest of the parser's words repeat what is there, which may be a secret. */
function placeIn(thrown: unknown): string {
  const message = String(thrown);
  if (message.includes('end of JSON')) return ': it ends too early';
  const match = /at position (\d+)/.exec(message);
  return match === null ? '' : `, from character ${match[1]} on`;
}

/**
 * A query parameter that is `true` or `false`; false when it is left out.
 *
 * @throws Problem invalid_parameter
 */
export function readFlag(call: Pick<Call, 'query'>, name: string): boolean {
  const text = call.query[name];
  if (text === undefined || text === '' || text === 'false') return false;
  if (text === 'true') return true;
  throw invalidParameter(name, `${name} is true or false`);
}
