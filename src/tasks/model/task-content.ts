import { mergeRetry, type RetryPolicy } from './retry-policy.ts';

/** Priorities, the most urgent first; the place of one in this list is its band. */
export const PRIORITIES = ['critical', 'high', 'normal', 'low', 'bulk'] as const;
export type Priority = (typeof PRIORITIES)[number];

/**
 * By how much tasks of a band stand back, in milliseconds: a worker's tasks are ordered by due time plus penalty, ties
 * by id. So a task is overtaken only by work that became due within its penalty, and none waits for ever.
 */
export const BAND_PENALTIES_MS: Readonly<Record<Priority, number>> = {
  critical: 0,
  high: 30_000,
  normal: 60_000,
  low: 120_000,
  bulk: 300_000,
};

/** What the creator of a task says of it, apart from its times, key and group, and from its large parts (`TaskBody`). */
export interface TaskContent extends OwnContent {
  readonly priority: Priority;
  readonly timeoutMs: number;
  readonly retry: RetryPolicy;
}

/** Content for which workers have no default. */
interface OwnContent {
  readonly type: string | null;
  readonly tags: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * The value of each field of {@link OwnContent} that a task does not have. Stores keep each field under its name as one text,
 * or as nothing if it has this value.
 */
export const NO_CONTENT: OwnContent = { type: null, tags: [], metadata: {} };

export type OwnField = keyof OwnContent;
export const OWN_FIELDS = Object.keys(NO_CONTENT) as readonly OwnField[];

/**
 * The texts that stores keep of the fields that are given; null for a value that a task does not have. Equal values have
 * equal texts.
 */
export function keptTexts(given: Partial<OwnContent>): Partial<Record<OwnField, string | null>> {
  const texts: Partial<Record<OwnField, string | null>> = {};
  for (const field of OWN_FIELDS) {
    const value = given[field];
    if (value !== undefined) texts[field] = keptText(value);
  }
  return texts;
}

function keptText(value: OwnContent[OwnField]): string | null {
  if (value === null || typeof value === 'string') return value;
  const text = JSON.stringify(value);
  return text === '[]' || text === '{}' ? null : text;
}

/** The content of which stores keep these texts. */
export function contentOfTexts(textOf: (field: OwnField) => string | null): OwnContent {
  const content: Record<string, unknown> = {};
  for (const field of OWN_FIELDS) {
    const text = textOf(field);
    const none = NO_CONTENT[field];
    content[field] = text === null ? none : none === null ? text : JSON.parse(text);
  }
  return content as unknown as OwnContent;
}

/** Content of the tasks of a schedule. What is null has the default of the worker. */
export interface TemplateContent extends OwnContent {
  readonly priority: Priority | null;
  readonly timeoutMs: number | null;
  readonly retry: Partial<RetryPolicy> | null;
}

/** Content that a request or a template gives. A field that is left out stays as it is; null clears it. */
export type GivenContent = {
  readonly [F in keyof TaskContent]?: (F extends 'retry' ? Partial<RetryPolicy> : TaskContent[F]) | null;
};

/** The defaults of a worker for its tasks. */
type WorkerDefaults = Pick<TaskContent, 'priority' | 'timeoutMs' | 'retry'>;

/** The content of a new task: what is not given has the default of the worker. */
export function newContent(given: GivenContent, { priority, timeoutMs, retry }: WorkerDefaults): TaskContent {
  const defaults: TaskContent = { ...NO_CONTENT, priority, timeoutMs, retry };
  return { ...defaults, ...changedContent(given, defaults, defaults) };
}

/**
 * The changed fields of the content of a task. A field that is cleared gets the default of the worker, or no value.
 *
 * @param before the content, of which a retry policy that is given in part keeps the rest
 */
export function changedContent(
  given: GivenContent,
  before: WorkerDefaults,
  defaults: WorkerDefaults,
): Partial<TaskContent> {
  const cleared: Readonly<Record<string, unknown>> = { ...NO_CONTENT, ...defaults };
  const changed: Record<string, unknown> = {};
  for (const name of CONTENT_FIELDS) {
    const value = given[name];
    if (value !== undefined) changed[name] = value ?? cleared[name];
  }
  if (given.retry != null) changed['retry'] = mergeRetry(before.retry, given.retry);
  return changed;
}

const CONTENT_FIELDS = [...OWN_FIELDS, 'priority', 'timeoutMs', 'retry'] as const;
