import type { DocumentBodies, DocumentKind } from '../../../src/tasks/model/documents.ts';
import { ACCOUNT_ID, type DocumentChange } from '../../../src/tasks/store/documents.ts';
import type { HappenedOperation } from '../world/store-under-test.ts';

/** What a document said since when; null since it was deleted. */
export interface KnownVersion<K extends DocumentKind> {
  readonly since: number;
  readonly body: DocumentBodies[K] | null;
}

/** All versions of all documents, with the times at which they were written. */
export class KnownDocuments {
  readonly #versions = new Map<string, KnownVersion<DocumentKind>[]>();

  /** @param ms in what time: that of the history, not that of the store */
  heard({ operation, answer }: HappenedOperation, ms: number): void {
    if (operation.name === 'apply') {
      const { kind } = answer as { kind: string };
      if (kind === 'done') this.#changed(operation.args[0], operation.args[1], ms);
    } else if (operation.name === 'create') {
      const { kind, results = [] } = answer as { kind: string; results?: readonly { kind: string }[] };
      const [tenant, request] = operation.args;
      const isDone =
        kind === 'done' && !(request.atomic && results.some(result => result.kind === 'refused'));
      if (isDone) this.#changed(tenant, request.documents ?? [], ms);
    }
  }

  #changed(tenant: string, changes: readonly DocumentChange[], ms: number): void {
    for (const change of changes) {
      const name = nameOf(tenant, change.kind, change.id);
      const versions = this.#versions.get(name) ?? [];
      versions.push({ since: ms, body: change.op === 'put' ? change.body : null });
      this.#versions.set(name, versions);
    }
  }

  /** What it may have said within this span of time, by those who knew of it; empty for one that never was. */
  within<K extends DocumentKind>(
    tenant: string,
    kind: K,
    id: string,
    fromMs: number,
  ): readonly (DocumentBodies[K] | null)[] {
    const versions = (this.#versions.get(nameOf(tenant, kind, id)) ?? []) as KnownVersion<K>[];
    const first = versions.findLastIndex(({ since }) => since <= fromMs);
    return versions.slice(Math.max(0, first)).map(({ body }) => body);
  }

  /** The same within a span of time that has an end; null first if it was not there yet. */
  between<K extends DocumentKind>(
    tenant: string,
    kind: K,
    id: string,
    fromMs: number,
    untilMs: number,
  ): readonly (DocumentBodies[K] | null)[] {
    const versions = this.versions(tenant, kind, id).filter(({ since }) => since <= untilMs);
    const first = versions.findLastIndex(({ since }) => since <= fromMs);
    const bodies = versions.slice(Math.max(0, first)).map(({ body }) => body);
    return first < 0 ? [null, ...bodies] : bodies;
  }

  now<K extends DocumentKind>(tenant: string, kind: K, id: string): DocumentBodies[K] | null {
    const versions = this.#versions.get(nameOf(tenant, kind, id)) as KnownVersion<K>[] | undefined;
    return versions?.at(-1)?.body ?? null;
  }

  account(tenant: string): DocumentBodies['account'] | null {
    return this.now(tenant, 'account', ACCOUNT_ID);
  }

  /** All versions, the first one first. */
  versions<K extends DocumentKind>(tenant: string, kind: K, id: string): readonly KnownVersion<K>[] {
    return (this.#versions.get(nameOf(tenant, kind, id)) ?? []) as KnownVersion<K>[];
  }

  /** Tenants and ids of all documents of a kind that ever were. */
  all(kind: DocumentKind): readonly { readonly tenant: string; readonly id: string }[] {
    return [...this.#versions.keys()]
      .map(name => name.split('\n'))
      .filter(([, of]) => of === kind)
      .map(([tenant, , id]) => ({ tenant, id }));
  }
}

function nameOf(tenant: string, kind: DocumentKind, id: string): string {
  return `${tenant}\n${kind}\n${id}`;
}
