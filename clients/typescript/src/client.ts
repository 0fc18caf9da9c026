import type {
  AnswerOf,
  CallOptions,
  ItemOf,
  ListPath,
  Method,
  OptionsArgument,
  PathWith,
  RetryOptions,
} from './calls.ts';
import { SluiceProblem } from './failures.ts';
import { DEFAULT_RETRY, repeated } from './repeated.ts';
import { type Received, type Sent, sendOnce } from './send-once.ts';

export interface SluiceClientOptions {
  /** The address of the tenant, or of the service: `https://acme.tasks.example.com`, `http://127.0.0.1:8080`. */
  readonly url: string;
  /** A token of a user (`tk_…`) or of a pull worker (`wkt_…`). */
  readonly token: string;
  /** Overrides some of the defaults: 10 attempts within a minute, with delays of up to 10 s. */
  readonly retry?: Partial<RetryOptions>;
  /** Timeout of one attempt in milliseconds. Default: 30 s. */
  readonly timeoutMs?: number;
  /** Further header fields of all requests, such as `traceparent`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A successful answer. */
export interface Answer<Body> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

/** A request as the methods of {@link SluiceClient} describe it, without its types. */
interface LooseOptions extends CallOptions {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

const DEFAULT_TIMEOUT_MS = 30_000;

/**
 * Calls the task service of Sluice. Paths, parameters, bodies and answers have the types of the OpenAPI document.
 *
 * Calls are repeated if the connection fails or the service is unavailable. Each POST has an `Idempotency-Key`, so a
 * repeated POST has no second effect. All methods reject with {@link SluiceProblem} if the service answers with an
 * error, and with `SluiceUnreachable` if it does not answer.
 */
export class SluiceClient {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #retry: RetryOptions;
  readonly #timeoutMs: number;

  constructor({ url, token, retry, timeoutMs = DEFAULT_TIMEOUT_MS, headers = {} }: SluiceClientOptions) {
    this.#url = originOf(url);
    this.#headers = {
      ...headers,
      authorization: `Bearer ${checkedToken(token)}`,
      accept: 'application/json',
    };
    this.#retry = { ...DEFAULT_RETRY, ...retry };
    this.#timeoutMs = timeoutMs;
  }

  /** A client with the address and the token of the environment variables `SLUICE_URL` and `SLUICE_TOKEN`. */
  static fromEnvironment(options: Omit<SluiceClientOptions, 'url' | 'token'> = {}): SluiceClient {
    const { SLUICE_URL: url, SLUICE_TOKEN: token } = process.env;
    if (!url || !token)
      throw new Error('Set SLUICE_URL to the address of the tenant, and SLUICE_TOKEN to a token.');
    return new SluiceClient({ ...options, url, token });
  }

  async get<P extends PathWith<'get'>>(
    path: P,
    ...options: OptionsArgument<P, 'get'>
  ): Promise<AnswerOf<P, 'get'>> {
    return (await this.#send('get', path, options)).body as AnswerOf<P, 'get'>;
  }

  async post<P extends PathWith<'post'>>(
    path: P,
    ...options: OptionsArgument<P, 'post'>
  ): Promise<AnswerOf<P, 'post'>> {
    return (await this.#send('post', path, options)).body as AnswerOf<P, 'post'>;
  }

  async put<P extends PathWith<'put'>>(
    path: P,
    ...options: OptionsArgument<P, 'put'>
  ): Promise<AnswerOf<P, 'put'>> {
    return (await this.#send('put', path, options)).body as AnswerOf<P, 'put'>;
  }

  async patch<P extends PathWith<'patch'>>(
    path: P,
    ...options: OptionsArgument<P, 'patch'>
  ): Promise<AnswerOf<P, 'patch'>> {
    return (await this.#send('patch', path, options)).body as AnswerOf<P, 'patch'>;
  }

  async delete<P extends PathWith<'delete'>>(
    path: P,
    ...options: OptionsArgument<P, 'delete'>
  ): Promise<AnswerOf<P, 'delete'>> {
    return (await this.#send('delete', path, options)).body as AnswerOf<P, 'delete'>;
  }

  /** Like the method of this name, with the status and the header fields of the answer, such as its `ETag`. */
  async send<M extends Method, P extends PathWith<M>>(
    method: M,
    path: P,
    ...options: OptionsArgument<P, M>
  ): Promise<Answer<AnswerOf<P, M>>> {
    return (await this.#send(method, path, options)) as Answer<AnswerOf<P, M>>;
  }

  /** All entries of a list, fetched page by page while they are read. `query.limit` is the size of a page. */
  async *list<P extends ListPath>(
    path: P,
    ...options: OptionsArgument<P, 'get'>
  ): AsyncGenerator<ItemOf<P>, void, undefined> {
    const [given] = options as readonly LooseOptions[];
    let cursor: string | null = null;
    do {
      const query: LooseOptions['query'] = { ...given?.query, ...(cursor !== null && { cursor }) };
      const { body } = await this.#send('get', path, [{ ...given, query }]);
      const page = body as { readonly data: readonly ItemOf<P>[]; readonly next_cursor: string | null };
      yield* page.data;
      cursor = page.next_cursor;
    } while (cursor !== null);
  }

  /** @param argument the options of a method, which may have been left out */
  async #send(method: Method, path: string, argument: readonly unknown[]): Promise<Received> {
    const options = (argument[0] ?? {}) as LooseOptions;
    const { signal, retry, ifMatch } = options;
    const sent = this.#request(method, path, options);
    // After an answer that got lost, the version is another one, so a repetition would be rejected.
    const isSafe = ifMatch === undefined;
    let mayBeDone = false;
    const once = (): Promise<Received> =>
      sendOnce(sent).catch(failure => {
        const status = failure instanceof SluiceProblem ? failure.status : null;
        // An attempt whose answer got lost has deleted it.
        if (method === 'delete' && mayBeDone && status === 404)
          return { status: 204, headers: new Headers(), body: undefined };
        mayBeDone ||= status === null || status >= 500;
        throw failure;
      });
    return repeated(once, isSafe, { ...this.#retry, ...retry }, signal);
  }

  /** The same request for all attempts. */
  #request(method: Method, path: string, options: LooseOptions): Sent {
    const { params = {}, query = {}, body, idempotencyKey, ifMatch, signal, timeoutMs } = options;
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => segmentOf(name, params[name]));
    const prefix = path.startsWith('/v1/') ? '/api' : '';
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) search.set(name, String(value));
    const key = method === 'post' && idempotencyKey !== null ? (idempotencyKey ?? crypto.randomUUID()) : null;
    return {
      method: method.toUpperCase(),
      url: `${this.#url}${prefix}${filled}${search.size > 0 ? `?${search}` : ''}`,
      headers: {
        ...this.#headers,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(key !== null && { 'idempotency-key': key }),
        ...(ifMatch !== undefined && { 'if-match': ifMatch }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      timeoutMs: timeoutMs ?? this.#timeoutMs,
      signal,
    };
  }
}

/**
 * The address without a slash at its end. Names below `localhost` are this machine (RFC 6761, 6.3), which not every
 * resolver knows. The service then takes the tenant from the token.
 */
function originOf(address: string): string {
  const url = new URL(address);
  // The message must not contain the address, which may contain a password.
  if (!/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new Error('The address of the service must begin with http:// or https://, without a user name.');
  if (url.hostname.endsWith('.localhost')) url.hostname = 'localhost';
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '');
}

/** The token without white space around it. `fetch` would show one that is not valid in its error. */
function checkedToken(token: string): string {
  const text = token.trim();
  if (!/^[\x21-\x7e]+$/.test(text))
    throw new Error('The token is empty, or contains white space or other characters that no token has.');
  return text;
}

/** @throws TypeError if the URL would lead to another path */
function segmentOf(name: string, value: unknown): string {
  const text = String(value ?? '');
  if (text === '' || text === '.' || text === '..')
    throw new TypeError(`The parameter ${name} of the path is ${text === '' ? 'missing' : `"${text}"`}.`);
  return encodeURIComponent(text);
}
