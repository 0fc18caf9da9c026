import { keptTexts, OWN_FIELDS, type OwnField, PRIORITIES } from '../../../model/task-content.ts';
import { resolveTime } from '../../../model/time.ts';
import type { TaskPatch } from '../../requests.ts';
import { mapText, type TaskRow } from './task-row.ts';
import type { Work } from './work.ts';

const BODY = 'SELECT payload, headers FROM body WHERE seq = ?';
const SET_BODY = 'UPDATE body SET payload = ?, headers = ? WHERE seq = ?';

/** Columns of a task that a patch can change, in the order of their names in histories. */
type ContentColumn = OwnField | 'band' | 'run_at' | 'expires_at' | 'timeout' | 'retry';
const NAMES: readonly (readonly [ContentColumn | 'payload' | 'headers', string])[] = [
  ['type', 'type'],
  ['payload', 'payload'],
  ['headers', 'headers'],
  ['band', 'priority'],
  ['run_at', 'run_at'],
  ['expires_at', 'expires_at'],
  ['timeout', 'timeout'],
  ['retry', 'retry'],
  ...OWN_FIELDS.filter(name => name !== 'type').map(name => [name, name] as const),
];

type Content = Partial<Pick<TaskRow, ContentColumn>> & {
  readonly payload?: string | null;
  readonly headers?: string | null;
};

/** Changes that a patch would make in a task. */
interface Difference {
  /** Names of the changed fields, as in histories. */
  readonly names: readonly string[];
  readonly content: Content;
  /** The current body; null if the patch does not concern it. */
  readonly body: BodyText | null;
}

export function difference(work: Work, row: TaskRow, patch: TaskPatch): Difference {
  const content = contentOf(patch, work.now);
  const aboutBody = patch.payload !== undefined || patch.headers !== undefined;
  const body = aboutBody ? readBody(work, row) : null;
  const present: Content = { ...row, ...body };
  const names = NAMES.filter(
    ([column]) => content[column] !== undefined && content[column] !== present[column],
  ).map(([, name]) => name);
  return { names, content, body };
}

/** Applies the difference to the row and writes the body. */
export function applyDifference(
  { statements }: Work,
  row: TaskRow,
  { names, content, body }: Difference,
): void {
  const { payload, headers, ...columns } = content;
  Object.assign(row, columns);
  if (body === null || !(names.includes('payload') || names.includes('headers'))) return;
  const values = {
    ...body,
    ...(payload !== undefined && { payload }),
    ...(headers !== undefined && { headers }),
  };
  statements.run(SET_BODY, values.payload, values.headers, row.seq);
}

interface BodyText {
  readonly payload: string | null;
  readonly headers: string | null;
}

function readBody({ statements }: Work, row: TaskRow): BodyText {
  const [payload, headers] = statements.one(BODY, row.seq)!;
  return { payload: payload as string | null, headers: headers as string | null };
}

/** Texts have the form of the columns, so that equal content has equal text. */
function contentOf(patch: TaskPatch, now: number): Content {
  const { priority, runAt, expiresAt, timeoutMs, retry, payload, headers } = patch;
  return {
    ...keptTexts(patch),
    ...(priority !== undefined && { band: PRIORITIES.indexOf(priority) }),
    ...(runAt !== undefined && { run_at: resolveTime(runAt, now) }),
    ...(expiresAt !== undefined && { expires_at: resolveTime(expiresAt, now) }),
    ...(timeoutMs !== undefined && { timeout: timeoutMs }),
    ...(retry !== undefined && { retry: JSON.stringify(retry) }),
    ...(payload !== undefined && { payload }),
    ...(headers !== undefined && { headers: mapText(headers) }),
  };
}
