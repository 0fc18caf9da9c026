import type { DocumentKind } from '../../model/documents.ts';
import {
  ACCOUNT_ID,
  type DocumentChange,
  type DocumentQuery,
  type DocumentRefusal,
  type StoredDocument,
  type TenantAccount,
} from '../documents.ts';
import type { ApplyAnswer, Idempotency } from '../requests.ts';
import type { AcrossTenants, DoubtfulTenants } from './across-tenants.ts';
import type { Argument, RedisClient } from './connection/redis-client.ts';
import { changeOf, idempotencyOf } from './encoding.ts';
import { documentOf, type Reply } from './lua/records.ts';
import { SCRIPTS, type Script } from './lua/scripts.ts';

/** The documents of tenants in Redis, and their idempotency records. For the methods, see `TaskStore`. */
export class RedisDocuments {
  readonly #redis: RedisClient;
  readonly #across: AcrossTenants;
  readonly #doubtful: DoubtfulTenants;
  readonly #run: (script: Script, tenant: string, args: readonly Argument[]) => Promise<Reply>;

  constructor(
    redis: RedisClient,
    across: AcrossTenants,
    doubtful: DoubtfulTenants,
    run: (script: Script, tenant: string, args: readonly Argument[]) => Promise<Reply>,
  ) {
    this.#redis = redis;
    this.#across = across;
    this.#doubtful = doubtful;
    this.#run = run;
  }

  async apply(
    tenant: string,
    changes: readonly DocumentChange[],
    idempotency?: Idempotency,
  ): Promise<ApplyAnswer> {
    const idem = idempotency === undefined ? '' : JSON.stringify(idempotencyOf(idempotency));
    const args = [JSON.stringify(changes.map(changeOf)), idem];
    const [kind, ...rest] = await this.#across.aroundDocuments(tenant, changes, () =>
      this.#doubtful.around(tenant, () => this.#run(SCRIPTS.apply, tenant, args)),
    );
    switch (String(kind)) {
      case 'reused':
        return { kind: 'reused' };
      case 'replayed':
        return { kind: 'replayed', note: String(rest[0]) };
      case 'refused':
        return { kind: 'refused', index: rest[0] as number, reason: String(rest[1]) as DocumentRefusal };
      default:
        return { kind: 'done', versions: rest as number[] };
    }
  }

  async get<K extends DocumentKind>(tenant: string, kind: K, id: string): Promise<StoredDocument<K> | null> {
    const key = `${this.#redis.keysOf(tenant)}D:${kind}`;
    const packed = (await this.#redis.sendOf(tenant, 'hget', [key, id])) as Buffer | null;
    return packed === null ? null : (documentOf(kind, id, packed) as StoredDocument<K>);
  }

  /** An account that cannot be read, for example because its node is unreachable, is null, unless none can be read. */
  async accounts(tenants: readonly string[]): Promise<readonly TenantAccount[]> {
    const read = await Promise.allSettled(tenants.map(tenant => this.get(tenant, 'account', ACCOUNT_ID)));
    const [first] = read;
    if (first?.status === 'rejected' && read.every(({ status }) => status === 'rejected')) throw first.reason;
    return read.map((each, i) => ({
      tenant: tenants[i],
      account: each.status === 'fulfilled' ? each.value : null,
    }));
  }

  async find(tenant: string, name: string): Promise<StoredDocument | null> {
    const [kind, id, packed] = await this.#run(SCRIPTS.findDocument, tenant, [name]);
    return kind === undefined ? null : documentOf(String(kind), String(id), packed as Buffer);
  }

  async list(tenant: string, query: DocumentQuery): Promise<readonly StoredDocument[]> {
    const { kind, parent, after, limit, order } = query;
    const index = parent === undefined ? `A:${kind}` : `P:${kind}:${parent}`;
    const begin = after === null ? (order === 'asc' ? '-' : '+') : `(${after}`;
    const end = order === 'asc' ? '+' : '-';
    const args = [kind, index, begin, end, order, limit];
    const reply = await this.#run(SCRIPTS.listDocuments, tenant, args);
    const found: StoredDocument[] = [];
    for (let i = 0; i < reply.length; i += 2) {
      found.push(documentOf(kind, String(reply[i]), reply[i + 1] as Buffer));
    }
    return found;
  }

  async count(tenant: string, kind: DocumentKind): Promise<number> {
    return (await this.#redis.sendOf(tenant, 'zcard', [`${this.#redis.keysOf(tenant)}A:${kind}`])) as number;
  }

  async recall(
    tenant: string,
    idempotency: Idempotency,
  ): Promise<{ readonly kind: 'new' | 'reused' } | { readonly kind: 'replayed'; readonly note: string }> {
    const args = [JSON.stringify(idempotencyOf(idempotency))];
    const [kind, note] = await this.#run(SCRIPTS.recall, tenant, args);
    const word = String(kind) as 'new' | 'reused' | 'replayed';
    return word === 'replayed' ? { kind: word, note: String(note) } : { kind: word };
  }

  async remember(tenant: string, idempotency: Idempotency): Promise<void> {
    await this.#run(SCRIPTS.remember, tenant, [JSON.stringify(idempotencyOf(idempotency))]);
  }
}
