import { RefundMarks } from '../../../src/counters/refund-marks.ts';
import type { CounterStore } from '../../../src/counters/store.ts';
import { CODE } from '../../../src/decision/batch.ts';
import { RuleGeneration } from '../../../src/decision/statistics/rule-statistics.ts';
import { DemandBoard } from '../../../src/quota/demand-board.ts';
import { Payments } from '../../../src/quota/payments.ts';
import { quotaCounters } from '../../../src/quota/quota-counters.ts';
import { QuotaDesk } from '../../../src/quota/quota-desk.ts';
import type { QuotaStream } from '../../../src/quota/quota-stream.ts';
import { SharedRecordsReader } from '../../../src/steering/shared-records.ts';
import { compiled } from '../../unit/rules/parse/rule-text.ts';
import { Decisions, descriptor } from '../decisions.ts';
import { embeddedStore, TEST_FINGERPRINT_KEY } from '../stores.ts';
import { bucketId, type ReadAction, readActions, usageReports } from './model-proxy.ts';

/** Entries of a bucket: `user=ann,plan=free`. */
type Entries = string;

interface SceneSetup {
  readonly rules: string;
  /** The embedded one unless given. */
  readonly store?: CounterStore;
  readonly steering?: SharedRecordsReader | SharedArrayBuffer;
  readonly isShadow?: boolean;
  /** Size of the local cache of the callers, in bytes; none unless given. */
  readonly localCacheBytes?: number;
  readonly nowMs?: number;
}

/** A desk whose proxies the test plays, and callers of `ShouldRateLimit` with the same rules, store and clock. */
export class DeskScene {
  readonly decisions: Decisions;
  readonly counters;
  readonly desk: QuotaDesk;
  /** The active rules; null for none. */
  generation: RuleGeneration | null = null;

  constructor({ rules, store = embeddedStore(), steering, isShadow = false, ...more }: SceneSetup) {
    const marks = new RefundMarks();
    const memory = steering instanceof SharedArrayBuffer ? steering : undefined;
    this.decisions = new Decisions({
      store,
      rules: null,
      generations: { current: () => this.generation },
      options: { modes: { shadow: isShadow, quota: false } },
      ...more,
      marks,
      ...(memory !== undefined && { steering: memory }),
    });
    const { clock, logger, stats, statistics } = this.decisions;
    this.counters = quotaCounters(stats);
    const reader = steering instanceof SharedRecordsReader ? steering : null;
    this.desk = new QuotaDesk({
      payments: new Payments({
        store,
        cacheKeyPrefix: '',
        fingerprintKey: TEST_FINGERPRINT_KEY,
        named: statistics,
        marks,
        steering: memory === undefined ? reader : new SharedRecordsReader(memory),
      }),
      board: new DemandBoard(''),
      rules: { current: () => this.generation },
      observer: { isActive: false, observe() {} },
      isShadow,
      clock,
      logger,
      counters: this.counters,
    });
    this.load(rules);
  }

  /** Loads other rules. */
  load(rules: string): void {
    this.generation = new RuleGeneration(compiled(rules));
    this.decisions.statistics.publish(this.generation);
  }

  open(): SceneProxy {
    return new SceneProxy(this.desk);
  }

  /** Time passes, and the desk does what there is to do. */
  async pass(ms: number): Promise<void> {
    this.decisions.clock.advance(ms);
    await this.desk.idle();
  }

  /** Hits that are counted for a descriptor of the domain `api` with one limit. */
  async counted(entries: Entries): Promise<number> {
    const request = { domain: 'api', descriptors: [descriptor(entries, { hitsAddend: 0 })], hitsAddend: 0 };
    const { statuses } = await this.decisions.ask(request);
    return statuses[0].currentLimit!.requestsPerUnit - statuses[0].limitRemaining;
  }

  /** A caller of `ShouldRateLimit` asks once. Returns whether it is allowed. */
  async asks(entries: Entries, hits = 1): Promise<boolean> {
    const request = {
      domain: 'api',
      descriptors: [descriptor(entries, { hitsAddend: hits })],
      hitsAddend: 0,
    };
    const { overallCode } = await this.decisions.ask(request);
    return overallCode === CODE.ok;
  }
}

/** A stream of a proxy. */
export class SceneProxy {
  readonly stream: QuotaStream;
  readonly #desk: QuotaDesk;
  /** What the proxy was sent and has not looked at. */
  #sent: ReadAction[] = [];

  constructor(desk: QuotaDesk) {
    this.#desk = desk;
    this.stream = desk.open('192.0.2.1:5000', message => this.#sent.push(...readActions(message)));
  }

  /** Sends bytes as they are. */
  send(message: Uint8Array): void {
    this.#desk.report(this.stream, message);
  }

  /** Reports requests of a bucket of the domain `api`. Returns what the proxy is sent then. */
  async reports(entries: Entries, allowed = 1, denied = 0): Promise<ReadAction[]> {
    const id = bucketId(pairsOf(entries));
    this.send(usageReports('api', [{ id, allowed, denied }]));
    await this.#desk.idle();
    return this.sent();
  }

  /** What the proxy was sent since the last look. */
  sent(): ReadAction[] {
    const sent = this.#sent;
    this.#sent = [];
    return sent;
  }

  /** The same without the rest. */
  sentKinds(): string[] {
    return this.sent().map(({ kind }) => kind);
  }

  close(): void {
    this.#desk.close(this.stream);
  }
}

/** `user=ann,plan=free` as pairs. */
export function pairsOf(entries: Entries): [string, string][] {
  return entries.split(',').map(pair => {
    const at = pair.indexOf('=');
    return [pair.slice(0, at), pair.slice(at + 1)];
  });
}
