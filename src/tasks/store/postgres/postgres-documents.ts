import type { DocumentKind } from '../../model/documents.ts';
import { DOCUMENT } from '../codes.ts';
import {
  ACCOUNT_ID,
  type DocumentChange,
  type DocumentQuery,
  LEAST_DOCUMENTS,
  type StoredDocument,
  type TenantAccount,
} from '../documents.ts';
import type { ApplyAnswer, Idempotency } from '../requests.ts';
import { READ_BYTES } from '../task-store.ts';
import type { Functions } from './functions.ts';
import { type ApplyValues, applyAnswer } from './rows/answers.ts';
import { type DocumentValues, documentOf } from './rows/document-row.ts';
import { changesText, recordOf } from './rows/encoding.ts';

/** The documents of tenants in PostgreSQL, and their idempotency records. For the methods, see `TaskStore`. */
export class PostgresDocuments {
  readonly #functions: Functions;

  constructor(functions: Functions) {
    this.#functions = functions;
  }

  async apply(
    tenant: string,
    changes: readonly DocumentChange[],
    idempotency?: Idempotency,
  ): Promise<ApplyAnswer> {
    const record = idempotency === undefined ? null : JSON.stringify(recordOf(idempotency));
    const drops = changes.some(({ op, kind }) => op === 'delete' && kind === 'account');
    const args = [tenant, changesText(changes), record, drops];
    return applyAnswer((await this.#functions.write('apply', args, tenant)) as ApplyValues);
  }

  async get<K extends DocumentKind>(tenant: string, kind: K, id: string): Promise<StoredDocument<K> | null> {
    const found = await this.#functions.read('get_document', [tenant, DOCUMENT[kind], id], tenant);
    return found === null ? null : (documentOf(found as DocumentValues) as StoredDocument<K>);
  }

  async find(tenant: string, name: string): Promise<StoredDocument | null> {
    const found = await this.#functions.read('find_document', [tenant, name], tenant);
    return found === null ? null : documentOf(found as DocumentValues);
  }

  async list(tenant: string, query: DocumentQuery): Promise<readonly StoredDocument[]> {
    const { kind, parent, after, limit, order } = query;
    const args = [tenant, DOCUMENT[kind], parent ?? null, after, limit, order === 'desc'];
    const rows = (await this.#functions.read('list_documents', args, tenant)) as DocumentValues[] | null;
    return (rows ?? []).map(documentOf);
  }

  async accounts(after: string | null, limit: number): Promise<readonly TenantAccount[]> {
    const args = [DOCUMENT.account, ACCOUNT_ID, after ?? '', limit];
    const rows = (await this.#functions.read('accounts', args, '')) as (readonly [string, DocumentValues])[];
    return rows.map(([tenant, values]) => ({
      tenant,
      account: documentOf(values) as StoredDocument<'account'>,
    }));
  }

  async count(tenant: string, kind: DocumentKind): Promise<number> {
    return Number(await this.#functions.read('count_documents', [tenant, DOCUMENT[kind]], tenant));
  }

  async due(
    max: number,
    after: string | null,
  ): Promise<readonly { readonly tenant: string; readonly document: StoredDocument }[]> {
    const args = [max, READ_BYTES, LEAST_DOCUMENTS, after];
    const rows = await this.#functions.readNow('due_documents', args, '');
    return (rows as (readonly [string, DocumentValues])[]).map(([tenant, values]) => ({
      tenant,
      document: documentOf(values),
    }));
  }

  async recall(
    tenant: string,
    { scope, key, fingerprint }: Idempotency,
  ): Promise<{ readonly kind: 'new' | 'reused' } | { readonly kind: 'replayed'; readonly note: string }> {
    const args = [tenant, scope, key, fingerprint, false];
    const found = await this.#functions.writeAside('recalled', args, tenant);
    if (found === null) return { kind: 'new' };
    const [kind, , note] = found as readonly ['reused' | 'replayed', null, string];
    return kind === 'reused' ? { kind } : { kind, note };
  }

  async remember(tenant: string, { scope, key, fingerprint, keepMs, note }: Idempotency): Promise<void> {
    const args = [tenant, scope, key, fingerprint, keepMs, note];
    await this.#functions.write('remember', args, tenant);
  }
}
