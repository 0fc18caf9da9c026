import type { ProblemPart } from '../../../base/schema/problem-part.ts';
import { type SchemaCheck, schemaCheck } from '../../../base/schema/schema-check.ts';
import { OperatorProblem } from './problem.ts';
import type { OperatorRoute } from './route.ts';

/** Maximum size of the body of a request. */
export const MAX_API_BODY_BYTES = 65_536;

const JSON_TYPE = /^application\/json\s*(?:;\s*charset="?utf-8"?\s*)?$/i;

/** Checks queries and bodies of one route. The checks are compiled for the first request. */
export class CallChecks {
  readonly #route: OperatorRoute;
  readonly #query: SchemaCheck;
  readonly #body: SchemaCheck | null;

  constructor(route: OperatorRoute) {
    this.#route = route;
    this.#query = schemaCheck({ type: 'object', properties: route.query ?? {} });
    this.#body = route.body === undefined ? null : schemaCheck(route.body);
  }

  /**
   * @param text the part of the target after the `?`
   * @throws OperatorProblem invalid_parameter
   */
  query(text: string): Readonly<Record<string, unknown>> {
    const values = new Map<string, unknown>();
    const { query = {} } = this.#route;
    for (const [name, value] of new URLSearchParams(text)) {
      if (values.has(name))
        throw invalidParameters([{ parameter: shortened(name), detail: 'is given twice' }]);
      const isNumber = Object.hasOwn(query, name) && query[name].type === 'number';
      values.set(name, isNumber && /^-?\d{1,15}(\.\d{1,15})?$/.test(value) ? Number(value) : value);
    }
    // `fromEntries` defines properties, so a parameter named `__proto__` is one like any other.
    const found = Object.fromEntries(values);
    const faults = this.#query(found);
    if (faults === null) return found;
    throw invalidParameters(
      faults.map(({ pointer = '', code }) => {
        const parameter = pointer.slice(1);
        const known = Object.keys(query).join(', ') || 'none';
        const detail = code === 'unknown_field' ? `is not known; known parameters: ${known}` : '';
        return { parameter, detail: detail === '' ? wordsAfter(faults, pointer) : detail };
      }),
    );
  }

  /** Whether the route has a body. */
  get takesBody(): boolean {
    return this.#body !== null;
  }

  /** @throws OperatorProblem invalid_json or validation_failed */
  body(bytes: Uint8Array): Readonly<Record<string, unknown>> {
    if (this.#body === null) return {};
    const body = parsed(bytes);
    const faults = this.#body(body);
    if (faults === null) return body as Record<string, unknown>;
    const detail = faults.map(fault => fault.detail).join('. ');
    throw new OperatorProblem('validation_failed', `${detail}.`, { errors: faults });
  }
}

/** @throws OperatorProblem unsupported_media_type. Web pages cannot send this type to other sites without permission. */
export function requireJson(contentType: string): void {
  if (JSON_TYPE.test(contentType)) return;
  throw new OperatorProblem(
    'unsupported_media_type',
    'The body must have the Content-Type application/json.',
  );
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new OperatorProblem('invalid_json', 'The body is not JSON in UTF-8.');
  }
}

function invalidParameters(
  parts: readonly { readonly parameter: string; readonly detail: string }[],
): OperatorProblem {
  const errors = parts.map(({ parameter, detail }) => ({ parameter, code: 'invalid_parameter', detail }));
  const text = errors
    .map(({ parameter, detail }) => `The parameter ${parameter === '' ? '""' : parameter} ${detail}.`)
    .join(' ');
  return new OperatorProblem('invalid_parameter', text, { errors });
}

/** The detail of a fault without the pointer at its start. */
function wordsAfter(faults: readonly ProblemPart[], pointer: string): string {
  const { detail } = faults.find(fault => fault.pointer === pointer)!;
  return detail.slice(pointer.length + 1);
}

/** The caller may have made the name up. */
function shortened(name: string): string {
  return name.length > 64 ? `${name.slice(0, 64)}…` : name;
}
