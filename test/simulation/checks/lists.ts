import type { Ledger } from '../world/ledger.ts';
import type { TaskChanged } from './known-tasks.ts';
import type { Report } from './violations.ts';

interface Span {
  readonly status: string;
  readonly from: number;
  until: number;
}

/** Compares lists with the tasks that were in them from their first page to their last. */
export class ListChecks {
  /** By tenant and task: which status it had since when. */
  readonly #spans = new Map<string, Map<string, Span[]>>();

  heard({ tenant, before, after, happened: { at } }: TaskChanged): void {
    const id = (after ?? before)!.id;
    const tasks = this.#spans.get(tenant) ?? new Map<string, Span[]>();
    this.#spans.set(tenant, tasks);
    const spans = tasks.get(id) ?? [];
    tasks.set(id, spans);
    const last = spans.at(-1);
    if (last?.status === after?.status) return;
    if (last !== undefined) last.until = at;
    if (after !== null) spans.push({ status: after.status, from: at, until: Number.POSITIVE_INFINITY });
  }

  finish({ lists }: Ledger, report: Report): void {
    for (const { tenant, statuses, ids, from, until } of lists) {
      const listed = new Set(ids);
      if (listed.size < ids.length) report('lists skip nothing', `a list of ${tenant} has a task twice`);
      for (const [id, spans] of this.#spans.get(tenant) ?? []) {
        const isIn = ({ status }: Span) => statuses === null || statuses.includes(status);
        const wasIn =
          statuses === null
            ? spans.length > 0 && spans[0].from < from && spans.at(-1)!.until > until
            : spans.some(span => isIn(span) && span.from < from && span.until > until);
        if (wasIn && !listed.has(id))
          report(
            'lists skip nothing',
            `${id} was ${statuses ?? 'there'} all the time, and not in a list from ${from} to ${until}`,
          );
        const neverIn = !spans.some(span => isIn(span) && span.from <= until && span.until >= from);
        if (neverIn && listed.has(id))
          report('lists skip nothing', `${id} was in a list of ${statuses}, and never was that`);
      }
    }
  }
}
