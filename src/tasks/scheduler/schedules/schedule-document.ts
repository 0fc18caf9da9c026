import type { Schedule } from '../../model/documents.ts';
import { scheduleDueAt } from '../../model/schedules/schedule-times.ts';
import type { PutDocument, StoredDocument } from '../../store/documents.ts';

/** The unique name under which a schedule is found. */
export function scheduleName(name: string): string {
  return `name:schedule:${name}`;
}

/** Writes a schedule in place of the version that was read. */
export function putSchedule(
  { id, version }: Pick<StoredDocument<'schedule'>, 'id' | 'version'>,
  body: Schedule,
): PutDocument<'schedule'> {
  return {
    op: 'put',
    kind: 'schedule',
    id,
    expect: version,
    parent: '',
    dueAt: scheduleDueAt(id, body),
    unique: [scheduleName(body.name)],
    body,
  };
}
