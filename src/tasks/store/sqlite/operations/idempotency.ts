import type { CreateResult, Idempotency } from '../../requests.ts';
import type { View, Work } from '../rows/work.ts';

const RECORD =
  'SELECT fingerprint, until, note, results FROM idem WHERE tenant = ? AND scope = ? AND key = ?';
const WRITE = `INSERT INTO idem (tenant, scope, key, fingerprint, until, note, results) VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (tenant, scope, key) DO UPDATE SET
  fingerprint = excluded.fingerprint, until = excluded.until, note = excluded.note, results = excluded.results`;

type Recalled =
  | { readonly kind: 'new' }
  | { readonly kind: 'reused' }
  | { readonly kind: 'replayed'; readonly note: string; readonly results: readonly CreateResult[] };

/** Reads the record of the idempotency key of a request. */
export function lookUp(view: View, tenant: number | null, idempotency: Idempotency | undefined): Recalled {
  if (idempotency === undefined || tenant === null) return { kind: 'new' };
  const row = view.statements.one(RECORD, tenant, idempotency.scope, idempotency.key);
  if (row === undefined || (row[1] as number) <= view.now) return { kind: 'new' };
  const [fingerprint, , note, results] = row;
  if (fingerprint !== idempotency.fingerprint) return { kind: 'reused' };
  return {
    kind: 'replayed',
    note: note as string,
    results: results === null ? [] : (JSON.parse(results as string) as CreateResult[]),
  };
}

export function writeRecord(
  { statements, now }: Work,
  tenant: number,
  { scope, key, fingerprint, keepMs, note }: Idempotency,
  results: readonly CreateResult[] | null,
): void {
  const text = results === null ? null : JSON.stringify(results);
  statements.run(WRITE, tenant, scope, key, fingerprint, now + keepMs, note, text);
}

export function recall(
  view: View,
  tenant: string,
  idempotency: Idempotency,
): { readonly kind: 'new' | 'reused' } | { readonly kind: 'replayed'; readonly note: string } {
  const found = lookUp(view, view.numbers.ofTenant(tenant), idempotency);
  return found.kind === 'replayed' ? { kind: 'replayed', note: found.note } : found;
}

export function remember(work: Work, tenant: string, idempotency: Idempotency): void {
  writeRecord(work, work.tenant(tenant).number, idempotency, null);
}
