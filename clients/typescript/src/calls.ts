import type { paths } from './generated/api.ts';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** The paths of the OpenAPI document that have this method, such as `/v1/tasks/{id}`. */
export type PathWith<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, { responses: unknown }> ? P : never;
}[keyof paths];

type OperationOf<P extends keyof paths, M extends Method> = paths[P] extends Record<M, infer O> ? O : never;

/** The parameters at one place of a request; never if there are none. */
type ParametersIn<O, Place extends string> = O extends { parameters: infer All }
  ? Place extends keyof All
    ? Exclude<All[Place], undefined>
    : never
  : never;

type ParamsOption<O> = [ParametersIn<O, 'path'>] extends [never]
  ? { readonly params?: never }
  : { readonly params: Readonly<ParametersIn<O, 'path'>> };

type QueryOption<O> = [ParametersIn<O, 'query'>] extends [never]
  ? { readonly query?: never }
  : { readonly query?: { readonly [Name in keyof ParametersIn<O, 'query'>]?: string | number | boolean } };

type BodyIn<O> = O extends { requestBody?: infer R } ? Exclude<R, undefined> : never;

type BodyOption<O> = [BodyIn<O>] extends [never]
  ? { readonly body?: never }
  : BodyIn<O> extends { content: { 'application/json': infer Body } }
    ? O extends { requestBody: unknown }
      ? { readonly body: Readonly<Body> }
      : { readonly body?: Readonly<Body> }
    : never;

/** How often, and for how long, a call is repeated. Durations are in milliseconds. */
export interface RetryOptions {
  /** Maximum number of attempts. 1 disables repetitions. */
  readonly attempts: number;
  /** No attempt starts later than this after the first one. */
  readonly withinMs: number;
  /** Upper bound of the random delay before the second attempt. It doubles with each further attempt. */
  readonly baseMs: number;
  /** Largest upper bound of the random delay. A longer `Retry-After` is respected nevertheless. */
  readonly maxDelayMs: number;
}

/** Options of every call. */
export interface CallOptions {
  /**
   * The `Idempotency-Key` of a POST. By default, each call gets a random one, so that it can be repeated. Choose the key
   * yourself if the whole program may repeat the call, for example after a crash. `null` sends none: use it for calls
   * that may be repeated without a key.
   */
  readonly idempotencyKey?: string | null;
  /** The `ETag` of the version that a PUT, PATCH or DELETE expects. Such a call is not repeated after a lost answer. */
  readonly ifMatch?: string;
  /** Overrides some of the client's options for repetitions. */
  readonly retry?: Partial<RetryOptions>;
  /** Timeout of one attempt in milliseconds, instead of that of the client. */
  readonly timeoutMs?: number;
  /** Ends the call. It then rejects with the reason of the signal. */
  readonly signal?: AbortSignal;
}

/** Parameters of the path, query, body and further options of a call, as the OpenAPI document describes them. */
export type OptionsOf<P extends keyof paths, M extends Method> = ParamsOption<OperationOf<P, M>> &
  QueryOption<OperationOf<P, M>> &
  BodyOption<OperationOf<P, M>> &
  CallOptions;

/** The options as an argument, which can be left out if the call needs none. */
export type OptionsArgument<P extends keyof paths, M extends Method> =
  Record<never, never> extends OptionsOf<P, M> ? [options?: OptionsOf<P, M>] : [options: OptionsOf<P, M>];

type Success = 200 | 201 | 202 | 204;

/** The body of a successful answer; undefined if it has none. */
export type AnswerOf<P extends keyof paths, M extends Method> =
  OperationOf<P, M> extends { responses: infer R }
    ? {
        [Status in keyof R]: Status extends Success
          ? R[Status] extends { content: { 'application/json': infer Body } }
            ? Body
            : undefined
          : never;
      }[keyof R]
    : never;

/** The paths with lists: their answers have `data` and `next_cursor`. */
export type ListPath = {
  [P in PathWith<'get'>]: AnswerOf<P, 'get'> extends { data: unknown[]; next_cursor: string | null }
    ? P
    : never;
}[PathWith<'get'>];

/** One entry of a list. */
export type ItemOf<P extends ListPath> = AnswerOf<P, 'get'> extends { data: (infer Item)[] } ? Item : never;
