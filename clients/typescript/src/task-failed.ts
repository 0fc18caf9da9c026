/** How the service should treat a failed attempt. Durations are strings such as `90s` or `1h30m`. */
export interface TaskFailedOptions extends ErrorOptions {
  /** Shown as `last_error.code` of the task. Default: `failed`. */
  readonly code?: string;
  /** `false` fails the task without further attempts. */
  readonly retry?: boolean;
  /** Minimum delay until the next attempt. */
  readonly retryAfter?: string;
}

/** Thrown by the handler of a pull worker to report a failed attempt in detail. Any other error is retried as well. */
export class TaskFailed extends Error {
  readonly code: string;
  readonly retry: boolean;
  readonly retryAfter: string | null;

  constructor(message: string, options: TaskFailedOptions = {}) {
    super(message, options);
    this.name = 'TaskFailed';
    this.code = options.code ?? 'failed';
    this.retry = options.retry ?? true;
    this.retryAfter = options.retryAfter ?? null;
  }
}

const MAX_CODE = 64;
const MAX_MESSAGE = 1_000;

/** What a handler has thrown, as text. It can be any value: `Promise.reject()` throws undefined. */
export function messageOf(thrown: unknown): string {
  return textOf(thrown instanceof Error ? thrown.message : thrown);
}

function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return 'an object that cannot be converted to text';
  }
}

/** The body that reports what a handler has thrown. */
export function failureBody(thrown: unknown): {
  error: { code: string; message: string };
  retry: boolean;
  retry_after?: string;
} {
  const details = thrown instanceof TaskFailed ? thrown : null;
  const name = thrown instanceof Error ? textOf(thrown.name) : '';
  return {
    error: {
      code: (details?.code || name || 'Error').slice(0, MAX_CODE),
      message: messageOf(thrown).slice(0, MAX_MESSAGE),
    },
    retry: details?.retry ?? true,
    ...(details !== null && details.retryAfter !== null && { retry_after: details.retryAfter }),
  };
}
