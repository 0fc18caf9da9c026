import { SchemaTable } from '../../../src/base/schema/openapi-schema.ts';
import { PROBLEMS, type ProblemCode } from '../../../src/tasks/rest/checks/problem-list.ts';
import type { RestResponse } from '../../../src/tasks/rest/http/http.ts';
import { PathTable } from '../../../src/tasks/rest/http/path-table.ts';
import type { Route } from '../../../src/tasks/rest/http/route.ts';
import { openApiDocument } from '../../../src/tasks/rest/openapi/document.ts';
import { SchemasOfDocument } from './schemas-of-document.ts';

interface Response {
  readonly description: string;
  readonly content?: object;
}

interface Documented {
  readonly responses: Readonly<Record<string, Response | { readonly $ref: string }>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Documented>>>>;
  readonly components: { readonly responses: Readonly<Record<string, Response>> };
}

/** What answers hold of the formats that the document names. */
const FORMATS = {
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
  uri: /^https?:\/\//,
  'uri-reference': /^\/errors\//,
  'json-pointer': /^(?:\/(?:[^~/]|~[01])*)*$/,
};

/**
 * Compares answers with what the OpenAPI document says of their operations: the status is listed, the body fits its
 * schema, a problem's code is named for its status. A body has no field beside those that its route declares. All
 * answers have the fields of a header that every answer, or every one of this status, has to have.
 */
export class AnswerCheck {
  readonly #paths = new PathTable<Route>();
  readonly #document: Document;
  readonly #schemas: SchemasOfDocument;

  constructor(routes: readonly Route[]) {
    for (const route of routes) this.#paths.add(route.method, route.path, route);
    this.#document = openApiDocument(routes, 'test') as never;
    this.#schemas = new SchemasOfDocument(this.#document, FORMATS);
  }

  /** Whether the answers of a path are known; of those of other routes only the header is looked at. */
  check(method: string, path: string, response: RestResponse): void {
    const found = this.#paths.find(method === 'HEAD' ? 'GET' : method, path.replace(/^\/api/, ''));
    const route = found === null || 'allowed' in found ? null : found.entry;
    const makesAccount = method === 'POST' && (path === '/' || path === '/accounts');
    const fault =
      headerFault(response) ??
      (response.status < 300 ? null : problemFault(response)) ??
      (makesAccount ? this.#documented('/accounts', 'post', response) : null) ??
      (route && (this.#ofRoute(route, response) ?? this.#asDeclared(route, response)));
    if (fault !== null) {
      const name = route?.operation ?? `${method} ${path.slice(0, 200)}`;
      throw new Error(`${name} answered ${response.status} ${response.body.slice(0, 2000)}\n${fault}`);
    }
  }

  #ofRoute({ path, method }: Route, response: RestResponse): string | null {
    return this.#documented(path.replaceAll(/:(\w+)/g, '{$1}'), method.toLowerCase(), response);
  }

  #documented(path: string, method: string, { status, body, headers }: RestResponse): string | null {
    const { paths, components } = this.#document;
    const response = paths[path][method].responses[String(status)];
    if (response === undefined) return 'the document does not list the status';
    const shared = '$ref' in response ? response.$ref.split('/').slice(1) : null;
    const listed = '$ref' in response ? components.responses[shared?.at(-1) ?? ''] : response;
    const type = Object.keys(listed.content ?? {})[0];
    if (type === undefined) return body === '' ? null : 'the document says that there is no body';
    if (headers['Content-Type'] !== type) return `the type has to be ${type}`;
    if (status >= 300 && !listed.description.includes(`\`${JSON.parse(body).code}\``)) {
      return 'the document does not name the code';
    }
    const place = shared ?? ['paths', path, method, 'responses', String(status)];
    const steps = [...place, 'content', type, 'schema'];
    return this.#schemas.faultAt(steps, JSON.parse(body));
  }

  /** With nothing beside what is declared, which the document, for answers, leaves open. */
  #asDeclared(route: Route, { status, body }: RestResponse): string | null {
    const schema = route.answers[status]?.schema;
    if (status >= 300 || schema === undefined) return null;
    const exactly = () => {
      const table = new SchemaTable();
      const exact = table.schemaOf(schema, 'request');
      return { ...exact, components: { schemas: table.all() } };
    };
    return this.#schemas.faultOf(`${route.operation} ${status} exactly`, exactly, JSON.parse(body));
  }
}

/** An answer that came over the wire, with names of fields as the service wrote them. */
export function writtenAs(answer: {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
}): RestResponse {
  const headers = Object.entries(answer.headers).map(([name, value]) => [WRITTEN[name] ?? name, value]);
  return { status: answer.status, headers: Object.fromEntries(headers), body: answer.text };
}

const WRITTEN: Readonly<Record<string, string>> = Object.fromEntries(
  [
    ...['Content-Type', 'Cache-Control', 'X-Content-Type-Options', 'X-Request-Id'],
    ...['Location', 'WWW-Authenticate', 'Allow', 'Retry-After'],
  ].map(name => [name.toLowerCase(), name]),
);

const checks = new Map<string, AnswerCheck>();

/** The check of these routes. All services with routes of these names share it: to compile one takes a while. */
export function answerCheckOf(routes: readonly Route[]): AnswerCheck {
  const names = routes.map(({ operation }) => operation).join(' ');
  let check = checks.get(names);
  if (check === undefined) {
    check = new AnswerCheck(routes);
    checks.set(names, check);
  }
  return check;
}

/** Header fields that answers of a status have to have. */
const OF_STATUS: Readonly<Record<number, string>> = {
  201: 'Location',
  401: 'WWW-Authenticate',
  405: 'Allow',
  429: 'Retry-After',
  503: 'Retry-After',
};

function headerFault({ status, headers }: RestResponse): string | null {
  if (headers['Cache-Control'] !== 'no-store') return 'caches may keep it';
  if (headers['X-Content-Type-Options'] !== 'nosniff') return 'browsers may guess its type';
  if (!/^[\w.:-]{1,128}$/.test(headers['X-Request-Id'] ?? '')) return 'it has no id of the request';
  const needed = OF_STATUS[status];
  if (needed !== undefined && headers[needed] === undefined) return `it has no ${needed}`;
  const split = Object.entries(headers).find(([, value]) => /[^\x20-\x7e]/.test(value));
  return split === undefined ? null : `${split[0]} has a character that header fields do not have`;
}

function problemFault({ status, body, headers }: RestResponse): string | null {
  if (headers['Content-Type'] !== 'application/problem+json') return 'a problem has a type of its own';
  const { code, type, title, detail, status: said, instance } = JSON.parse(body);
  const known = PROBLEMS[code as ProblemCode];
  if (known === undefined || known.status !== status || said !== status) return 'the code has another status';
  if (type !== `/errors/${code}` || title !== known.title) return 'type and title do not fit the code';
  if (typeof detail !== 'string' || detail.length < 10) return 'the detail says nothing';
  if (instance !== headers['X-Request-Id']) return 'body and header name different requests';
  return Buffer.byteLength(body) > 64 * 1024 ? 'it is longer than anybody reads' : null;
}
