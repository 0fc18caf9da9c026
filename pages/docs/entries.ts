import { type Answer, nameOf, type OpenApi, type Operation, resolved } from './openapi.ts';
import { fieldNames } from './schema/fields.ts';

/** A method of a path, or of a receiver. */
export interface Entry {
  readonly kind: 'operation' | 'webhook';
  readonly method: string;
  /** The path with the prefix of its server; empty for a receiver, whose URL is its own. */
  readonly path: string;
  /** The heading of the navigation that it is under. */
  readonly tag: string;
  readonly operation: Operation;
  /** Responses by status. */
  readonly answers: readonly (readonly [status: string, Answer])[];
  /** Names of operation, parameters and fields, in lower case, for the search. */
  readonly words: string;
}

/** A problem code with its explanation. */
export interface ProblemEntry {
  readonly code: string;
  readonly status: number;
  readonly title: string;
  readonly meaning: string;
  readonly remedy: string;
  readonly example: unknown;
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/** All operations in the order of the document. */
export function operationsOf(document: OpenApi): Entry[] {
  return Object.entries(document.paths).flatMap(([path, item]) => {
    const [server] = (item['servers'] as OpenApi['servers'] | undefined) ?? document.servers;
    const whole = `${server.url.replace(/\/$/, '')}${path}`;
    return METHODS.flatMap(method => entryOf(document, 'operation', method, whole, item[method]));
  });
}

/** What receivers get. */
export function webhooksOf(document: OpenApi): Entry[] {
  return Object.values(document.webhooks).flatMap(item =>
    METHODS.flatMap(method => entryOf(document, 'webhook', method, '', item[method])),
  );
}

function entryOf(
  document: OpenApi,
  kind: Entry['kind'],
  method: string,
  path: string,
  found: unknown,
): Entry[] {
  if (found === undefined) return [];
  const operation = found as Operation;
  const { operationId, summary, tags, parameters = [], requestBody, responses } = operation;
  const fields = Object.values(requestBody?.content ?? {}).flatMap(({ schema }) =>
    fieldNames(document, schema),
  );
  const words = [method, path, operationId, summary, ...parameters.map(({ name }) => name), ...fields];
  const answers = Object.entries(responses).map(
    ([status, answer]) => [status, resolved<Answer>(document, answer)] as const,
  );
  return [
    {
      kind,
      method: method.toUpperCase(),
      path,
      tag: tags[0],
      operation,
      answers,
      words: words.join(' ').toLowerCase(),
    },
  ];
}

/** All problem codes, in the order of the document. */
export function problemsOf({ components }: OpenApi): ProblemEntry[] {
  return Object.entries(components.examples).flatMap(([code, { summary = '', description = '', value }]) => {
    const { status, code: named } = (value ?? {}) as { readonly status?: number; readonly code?: string };
    if (named !== code || status === undefined) return [];
    const [meaning, remedy = ''] = description.split('\n\n');
    return [{ code, status, title: summary, meaning, remedy, example: value }];
  });
}

/** The problem codes that an operation answers. */
export function codesOf({ answers }: Entry): string[] {
  return answers.flatMap(([, answer]) => codesIn(answer));
}

/** The responses that are no problems. */
export function successesOf({ answers }: Entry): Entry['answers'] {
  return answers.filter(([, answer]) => codesIn(answer).length === 0);
}

function codesIn({ content = {} }: Answer): string[] {
  return Object.values(content['application/problem+json']?.examples ?? {}).map(nameOf);
}

/** The path of the documentation. */
export const START = '/api/docs';
/** Paths of pages begin with these. */
const OPERATIONS = `${START}/operations/`;
const RECEIVERS = `${START}/receivers/`;
export const PROBLEM_LIST = `${START}/problems`;
export const PROBLEMS = `${PROBLEM_LIST}/`;

/** The path of the page of an entry. */
export function pathOf({ kind, operation }: Entry): string {
  return `${kind === 'operation' ? OPERATIONS : RECEIVERS}${operation.operationId}`;
}
