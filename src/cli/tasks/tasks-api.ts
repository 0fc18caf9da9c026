import { lookup } from 'node:dns';
import { type ClientRequest, request as requestOverHttp } from 'node:http';
import { request as requestOverHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import { asError } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import { explainTlsFailure, type TlsRemedies } from '../../base/tls/client-tls.ts';
import { trustedCas } from '../../base/tls/trusted-cas.ts';
import { CommandFault, UsageFault } from '../terminal/io.ts';

/** Advice for a failed handshake. */
const TLS_REMEDIES: TlsRemedies = { ca: 'NODE_EXTRA_CA_CERTS', plain: 'begin the address with http://' };

/** Timeout of a request. */
const TIMEOUT_MS = 30_000;
/** Large enough for a page of tasks with their payloads. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

export type Json = Readonly<Record<string, unknown>>;

/** The address of the service and the token for it. */
export interface ApiTarget {
  /** `http://acme.localhost:8080`, without a path. */
  readonly url: string;
  /** Empty for none. It is only sent in a header field and never printed. */
  readonly token: string;
  /** How to change the address, for messages: `--url or SLUICE_URL`. */
  readonly namedBy: string;
}

interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With its query: `/api/v1/tasks?status=failed`. */
  readonly path: string;
  readonly body?: Json;
  readonly idempotencyKey?: string;
}

/**
 * Sends one request and returns the body of its answer; an empty object if it has no body.
 *
 * @throws CommandFault with the errors that the service reports, field by field, or the reason why the request failed
 */
export async function callApi(target: ApiTarget, request: ApiRequest): Promise<Json> {
  const { status, text } = await send(target, request);
  const body = parsed(text);
  if (status >= 200 && status < 300 && (body !== null || text === '')) return body ?? {};
  if (typeof body?.['code'] === 'string') throw new CommandFault(problemText(body));
  throw strangeAnswer(target, `with HTTP status ${status}`);
}

/** The rows of an answer that is to have some. @throws CommandFault */
export function rowsOf(target: ApiTarget, answer: Json, name: string): readonly Json[] {
  const rows = answer[name];
  if (!Array.isArray(rows)) throw strangeAnswer(target, 'with unexpected JSON');
  return rows;
}

/** The response is not one of the task service. @param how continues "answered" */
export function strangeAnswer(target: ApiTarget, how: string): CommandFault {
  return new CommandFault(
    `${target.url} answered ${how}, which is not a response of the task service. ` +
      'Is the service running there with TASKS_ENABLED=true?',
  );
}

/** The error, followed by a line for each field that the error does not mention. */
function problemText(problem: Json): string {
  const parts = Array.isArray(problem['errors']) ? (problem['errors'] as Json[]) : [];
  const whole = `${problem['detail'] ?? problem['title']} (${problem['code']})`;
  const more = parts
    .filter(part => !whole.includes(String(part['detail'])))
    .map(part => `  ${partText(part)}`);
  return [whole, ...more].map(printable).join('\n');
}

function partText(part: Json): string {
  const where = String(part['pointer'] ?? part['parameter'] ?? '');
  const detail = String(part['detail']);
  return detail.startsWith(where) ? detail : `${where}: ${detail}`;
}

function parsed(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Json) : null;
  } catch {
    return null;
  }
}

function send(target: ApiTarget, request: ApiRequest): Promise<{ status: number; text: string }> {
  const url = addressOf(target, request.path);
  const body = request.body === undefined ? '' : JSON.stringify(request.body);
  const headers = {
    accept: 'application/json',
    ...(target.token !== '' && { authorization: `Bearer ${target.token}` }),
    ...(request.idempotencyKey !== undefined && { 'idempotency-key': request.idempotencyKey }),
    ...(request.method !== 'GET' && {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    }),
  };
  const isHttps = url.protocol === 'https:';
  const options = {
    method: request.method,
    headers,
    lookup: lookUp,
    agent: false as const,
    ...(isHttps && { ca: trustedCas() }),
  };
  return new Promise((resolve, reject) => {
    const open = isHttps ? requestOverHttps : requestOverHttp;
    const call: ClientRequest = open(url, options, answer => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MAX_ANSWER_BYTES) call.destroy(new Error('the answer is too large'));
        else chunks.push(chunk);
      });
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
      );
      answer.on('error', fail);
    });
    const timer = setTimeout(
      () => call.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} seconds`)),
      TIMEOUT_MS,
    );
    const fail = (failure: unknown) =>
      reject(
        new CommandFault(
          `request to ${target.url} failed: ${explainTlsFailure(asError(failure).message, TLS_REMEDIES)}. ` +
            'Is the service running there? ' +
            `Change the address with ${target.namedBy}.`,
          { cause: failure },
        ),
      );
    call.on('error', fail);
    call.on('close', () => clearTimeout(timer));
    call.end(body);
  });
}

function addressOf(target: ApiTarget, path: string): URL {
  const url = URL.canParse(target.url) ? new URL(target.url) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.pathname !== '/' || url.username !== '') {
    throw new UsageFault(
      `"${printable(target.url)}" is not a valid address. Write it as http://acme.localhost:8080.`,
    );
  }
  return new URL(path, url);
}

/** Names below `localhost` are this machine (RFC 6761, 6.3), which not every resolver knows. */
const lookUp: LookupFunction = (name, options, done) => {
  lookup(name === 'localhost' || name.endsWith('.localhost') ? 'localhost' : name, options, done);
};

/** Maximum page size of the API. */
const PAGE = 200;

/** All entries of a list, up to `limit`, fetched page by page. */
export async function allOf(
  target: ApiTarget,
  path: string,
  query: URLSearchParams,
  limit: number,
): Promise<readonly Json[]> {
  const found: Json[] = [];
  let cursor: string | null = null;
  do {
    const asked = new URLSearchParams(query);
    asked.set('limit', String(Math.min(PAGE, limit - found.length)));
    if (cursor !== null) asked.set('cursor', cursor);
    const page = await callApi(target, { method: 'GET', path: `${path}?${asked}` });
    found.push(...rowsOf(target, page, 'data'));
    cursor = (page['next_cursor'] as string | null | undefined) ?? null;
  } while (cursor !== null && found.length < limit);
  return found;
}
