import { ByteWriter } from '../../../src/base/bytes.ts';
import { readerOf, WireFault, writeBytes, writeText, writeUint } from '../../../src/messages/wire.ts';

/**
 * How a proxy applies assignments:
 *
 * - `envoy`: fills its token bucket continuously. Another assignment keeps the share of the tokens that are left.
 * - `old envoy`: fills it continuously. Another assignment begins with a full token bucket.
 * - `stepwise`: adds all tokens of an interval at its end, as the protocol describes it. Another assignment begins full.
 */
export type ProxyKind = 'envoy' | 'old envoy' | 'stepwise';

/** What a proxy does without an assignment: before the first one, and when one has expired. */
export type Fallback = 'allow' | 'deny';

/** An assignment as a proxy reads it. */
export interface ReadAction {
  readonly bucket: string;
  readonly kind: 'allow_all' | 'deny_all' | 'token_bucket' | 'abandon';
  readonly tokens: number;
  readonly intervalS: number;
  readonly ttlS: number;
}

/** Reads a `RateLimitQuotaResponse` as proxies do. */
export function readActions(message: Uint8Array): ReadAction[] {
  const actions: ReadAction[] = [];
  for (const action of messagesOf(message, 1)) {
    const bucket = idText(messagesOf(action, 1)[0]);
    const [assignment] = messagesOf(action, 2);
    if (assignment === undefined) {
      actions.push({ bucket, kind: 'abandon', tokens: 0, intervalS: 0, ttlS: 0 });
      continue;
    }
    const ttlS = numberOf(messagesOf(assignment, 2)[0], 1);
    const strategy = messagesOf(assignment, 3)[0];
    const [tokenBucket] = messagesOf(strategy, 3);
    if (tokenBucket === undefined) {
      const kind = numberOf(strategy, 1) === 0 ? 'allow_all' : 'deny_all';
      actions.push({ bucket, kind, tokens: 0, intervalS: 0, ttlS });
      continue;
    }
    const tokens = numberOf(tokenBucket, 1);
    const perFill = numberOf(messagesOf(tokenBucket, 2)[0], 1);
    if (perFill !== tokens) throw new Error(`${perFill} tokens for each fill of ${tokens}`);
    const intervalS = numberOf(messagesOf(tokenBucket, 3)[0], 1);
    actions.push({ bucket, kind: 'token_bucket', tokens, intervalS, ttlS });
  }
  return actions;
}

function messagesOf(bytes: Uint8Array, field: number): Uint8Array[] {
  const found: Uint8Array[] = [];
  const reader = readerOf(bytes);
  while (reader.next())
    if (reader.field === field) found.push(reader.view());
    else reader.skip();
  return found;
}

function numberOf(bytes: Uint8Array | undefined, field: number): number {
  let value = 0;
  const reader = readerOf(bytes ?? new Uint8Array(0));
  while (reader.next())
    if (reader.field === field) value = reader.uint64();
    else reader.skip();
  return value;
}

/** The entries of a `BucketId`, sorted, as one text; its bytes if it is none. */
function idText(id: Uint8Array): string {
  try {
    return entriesText(id);
  } catch (fault) {
    if (!(fault instanceof WireFault)) throw fault;
    return Buffer.from(id).toString('hex');
  }
}

function entriesText(id: Uint8Array): string {
  const texts = messagesOf(id, 1).map(entry => {
    const [key, value] = [1, 2].map(field => Buffer.from(messagesOf(entry, field)[0] ?? []).toString());
    return `${key}=${value}`;
  });
  return texts.sort().join(',');
}

/** A `BucketId` in wire format, with the entries in the order that is given. */
export function bucketId(entries: readonly (readonly [string, string])[]): Uint8Array {
  const id = new ByteWriter();
  for (const [key, value] of entries) {
    const entry = new ByteWriter();
    writeText(entry, 1, key);
    writeText(entry, 2, value);
    writeBytes(id, 1, entry.take());
  }
  return id.take();
}

/** What a proxy reports of a bucket. */
export interface ModelUsage {
  readonly id: Uint8Array;
  readonly allowed: number;
  readonly denied: number;
}

/** A `RateLimitQuotaUsageReports`. */
export function usageReports(domain: string, usages: readonly ModelUsage[]): Uint8Array {
  const message = new ByteWriter();
  writeText(message, 1, domain);
  for (const { id, allowed, denied } of usages) {
    const usage = new ByteWriter();
    writeBytes(usage, 1, id);
    const elapsed = new ByteWriter();
    writeUint(elapsed, 1, 1);
    writeBytes(usage, 2, elapsed.take());
    writeUint(usage, 3, allowed);
    writeUint(usage, 4, denied);
    writeBytes(message, 2, usage.take());
  }
  return message.take();
}

/** One bucket in a proxy. It shares no code with the service. */
export class ModelBucket {
  readonly id: Uint8Array;
  readonly text: string;
  readonly #kind: ProxyKind;
  readonly #fallback: Fallback;
  #action: ReadAction | null = null;
  #endMs = 0;
  /** Tokens that are left, at a time. */
  #tokens = 0;
  #filledMs = 0;
  #allowed = 0;
  #denied = 0;

  constructor(entries: readonly (readonly [string, string])[], kind: ProxyKind, fallback: Fallback) {
    this.id = bucketId(entries);
    this.text = idText(this.id);
    this.#kind = kind;
    this.#fallback = fallback;
  }

  /** The assignment in force; null if there is none. */
  actionAt(nowMs: number): ReadAction | null {
    return nowMs < this.#endMs ? this.#action : null;
  }

  apply(action: ReadAction, nowMs: number): void {
    const before = this.actionAt(nowMs);
    this.#fill(nowMs);
    const isSame =
      before !== null &&
      before.kind === action.kind &&
      before.tokens === action.tokens &&
      (this.#kind === 'stepwise' ? before.intervalS === action.intervalS : true);
    if (!isSame && action.kind === 'token_bucket') {
      const share =
        this.#kind === 'envoy' && before?.kind === 'token_bucket' ? this.#tokens / before.tokens : 1;
      this.#tokens = Math.floor(action.tokens * share);
      this.#filledMs = nowMs;
    }
    // Envoy does not see that only the interval has changed.
    this.#action = isSame ? { ...action, intervalS: before.intervalS } : action;
    this.#endMs = nowMs + action.ttlS * 1_000;
  }

  /** A request arrives. Returns how it is decided: by an assignment, or without one. */
  request(nowMs: number): { readonly isAllowed: boolean; readonly isAssigned: boolean } {
    const action = this.actionAt(nowMs);
    let isAllowed = this.#fallback === 'allow';
    if (action !== null) {
      this.#fill(nowMs);
      isAllowed = action.kind === 'allow_all' || (action.kind === 'token_bucket' && this.#tokens >= 1);
      if (isAllowed && action.kind === 'token_bucket') this.#tokens--;
    }
    if (isAllowed) this.#allowed++;
    else this.#denied++;
    return { isAllowed, isAssigned: action !== null };
  }

  /** What it reports, which then begins at 0 again. */
  take(): ModelUsage {
    const usage = { id: this.id, allowed: this.#allowed, denied: this.#denied };
    this.#allowed = 0;
    this.#denied = 0;
    return usage;
  }

  #fill(nowMs: number): void {
    const action = this.#action;
    if (action?.kind !== 'token_bucket') return;
    const intervalMs = action.intervalS * 1_000;
    const untilMs = Math.min(nowMs, this.#endMs);
    let intervals = Math.max(0, (untilMs - this.#filledMs) / intervalMs);
    if (this.#kind === 'stepwise') intervals = Math.floor(intervals);
    this.#filledMs += intervals * intervalMs;
    this.#tokens = Math.min(action.tokens, this.#tokens + intervals * action.tokens);
  }
}
