import { type Clock, SECOND_MS, type Timer } from '../base/clock.ts';
import { atTurnEnd } from '../base/event-loop.ts';
import { asError, Fault } from '../base/fault.ts';
import type { Logger } from '../base/logger.ts';
import type { GenerationSource } from '../decision/batching/batcher.ts';
import type { RuleGeneration } from '../decision/statistics/rule-statistics.ts';
import { decodeUsageReports, type UsageReports } from '../messages/quota-codec.ts';
import { WireFault } from '../messages/wire.ts';
import { BucketRegistry, type Membership } from './bucket-registry.ts';
import type { DemandBoard } from './demand-board.ts';
import { DELAY_MS, ended } from './grant.ts';
import type { Payments } from './payments.ts';
import type { QuotaBucket } from './quota-bucket.ts';
import type { QuotaCounters } from './quota-counters.ts';
import { QuotaStream } from './quota-stream.ts';
import { type Give, Round, type UsageObserver } from './round.ts';
import type { Subscriber } from './subscriber.ts';

/** How often the desk looks for proxies that can get more. */
const TICK_MS = 250;

/** A proxy that reports no request of a bucket for this time is told to forget the bucket. */
const IDLE_MS = 120 * SECOND_MS;

/** How often the desk looks for such proxies, and at how many buckets of streams in a tick, or at those of one stream. */
const SWEEP_MS = 10 * SECOND_MS;
const SWEEP_BUCKETS = 10_000;

/**
 * Maximum number of buckets in a round, and the number of proxies, summed over its buckets, with which it is full. It takes
 * some milliseconds. Other buckets wait for the next round.
 */
const ROUND_BUCKETS = 250;
const ROUND_PROXIES = 2_500;

const MAX_DOMAIN_BYTES = 1_024;

/** What a desk needs. */
interface QuotaDeskParts {
  readonly payments: Payments;
  readonly board: DemandBoard;
  readonly observer: UsageObserver;
  readonly rules: GenerationSource;
  /** Whether all limits are in shadow mode. */
  readonly isShadow: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly counters: QuotaCounters;
}

/**
 * The rate limit quota service of a thread, for the streams of its connections. It takes the reports of proxies, and sends
 * them assignments in rounds: reports that arrive in one turn of the event loop, or while the store is asked, are looked at
 * together. What other threads and processes grant is known only from the counters.
 */
export class QuotaDesk {
  readonly #parts: QuotaDeskParts;
  readonly #registry = new BucketRegistry();
  readonly #streams = new Set<QuotaStream>();
  /** Buckets with proxies that wait for an assignment. */
  readonly #due = new Set<QuotaBucket>();
  /** Buckets that may have to be in a round without a report. All others are not looked at in each tick. */
  readonly #restless = new Set<QuotaBucket>();
  /** Streams whose buckets are looked at for idle ones, in the next ticks. */
  #unswept: QuotaStream[] = [];
  #isScheduled = false;
  #round: Promise<void> | null = null;
  /** Maximum number of buckets in the next round: fewer after one that was late. */
  #roundBuckets = ROUND_BUCKETS;
  #timer: Timer | null = null;
  #sweptMs = 0;

  constructor(parts: QuotaDeskParts) {
    this.#parts = parts;
  }

  get streams(): ReadonlySet<QuotaStream> {
    return this.#streams;
  }

  get buckets(): Iterable<QuotaBucket> {
    return this.#registry.buckets;
  }

  get bucketCount(): number {
    return this.#registry.count;
  }

  /** A proxy has opened a stream. @param send sends it a message, which is valid during the call */
  open(peer: string, send: (message: Uint8Array) => void): QuotaStream {
    const stream = new QuotaStream(peer, send);
    this.#streams.add(stream);
    this.#registry.open(stream);
    if (this.#streams.size === 1) this.#startTimer();
    return stream;
  }

  /** The stream has ended. */
  close(stream: QuotaStream): void {
    this.#streams.delete(stream);
    const nowMs = this.#parts.clock.nowMs();
    for (const membership of this.#registry.close(stream)) this.#leave(membership, nowMs);
    if (this.#streams.size > 0) return;
    this.#timer?.cancel();
    this.#timer = null;
  }

  /**
   * Takes a `RateLimitQuotaUsageReports`.
   *
   * @throws Fault `unparseable`, `too_large` or `bad_request`: the stream has to end
   */
  report(stream: QuotaStream, message: Uint8Array): void {
    const { domain, usages } = decoded(message);
    checkDomain(stream, domain);
    if (stream.domain === '') stream.domain = domain;
    const nowMs = this.#parts.clock.nowMs();
    const { counters } = this.#parts;
    counters.reports.add(usages.length);
    for (const usage of usages) {
      const membership = this.#registry.find(stream, usage.id, nowMs);
      if (membership === null) {
        stream.abandon(usage.id);
        counters.rejected.add(1);
      } else {
        const { bucket, subscriber } = membership;
        counters.allowed.add(usage.allowed);
        counters.denied.add(usage.denied);
        bucket.report(subscriber, usage.allowed, usage.denied, nowMs);
        this.#schedule(bucket);
      }
    }
    stream.flush();
  }

  /** Resolves when no round runs and none is due. */
  async idle(): Promise<void> {
    while (this.#isScheduled || this.#round !== null) await (this.#round ?? new Promise<void>(atTurnEnd));
  }

  #leave({ bucket, subscriber }: Membership, nowMs: number): void {
    bucket.leave(subscriber, nowMs);
    this.#schedule(bucket);
  }

  #schedule(bucket: QuotaBucket): void {
    this.#due.add(bucket);
    this.#scheduleRound();
  }

  /** Rounds begin in turns of the event loop of their own, because the thread has other work as well. */
  #scheduleRound(): void {
    if (this.#due.size === 0 || this.#isScheduled || this.#round !== null) return;
    this.#isScheduled = true;
    atTurnEnd(() => {
      this.#isScheduled = false;
      this.#begin();
    });
  }

  #begin(): void {
    const generation = this.#parts.rules.current();
    // Without rules, proxies get assignments with their reports after the rules were loaded.
    if (generation === null) return;
    const buckets = this.#takeDue();
    generation.begin();
    this.#round = this.#run(generation, buckets).then(() => {
      generation.end();
      this.#round = null;
      this.#scheduleRound();
    });
  }

  /** Returns the buckets of the next round. A bucket is not split, because what it has is divided among all its proxies. */
  #takeDue(): QuotaBucket[] {
    const buckets: QuotaBucket[] = [];
    let proxies = 0;
    for (const bucket of this.#due) {
      if (buckets.length === this.#roundBuckets || proxies >= ROUND_PROXIES) break;
      buckets.push(bucket);
      this.#due.delete(bucket);
      proxies += bucket.waiting.size;
    }
    return buckets;
  }

  /** Never rejects. */
  async #run(generation: RuleGeneration, buckets: readonly QuotaBucket[]): Promise<void> {
    const { clock, counters, logger } = this.#parts;
    try {
      const nowMs = Math.floor(clock.nowMs());
      const round = new Round({ ...this.#parts, generation, nowMs }, buckets);
      await round.pay();
      // The other half of the time is for the messages.
      const isLate = clock.nowMs() - nowMs > DELAY_MS / 2;
      this.#roundBuckets = isLate
        ? Math.ceil(this.#roundBuckets / 2)
        : Math.min(ROUND_BUCKETS, this.#roundBuckets * 2);
      if (isLate) {
        counters.late.add(1);
        round.postpone();
      } else
        round.divide(this.#give(nowMs), (bucket, subscriber) => {
          counters.assignments.add(1);
          answer(bucket, subscriber, bucket.verdict === 'allow_all' ? 'allow_all' : 'deny_all', nowMs);
        });
      for (const stream of this.#streams) stream.flush();
      await round.giveBack();
      round.show();
    } catch (failure) {
      counters.storeErrors.add(1);
      if (!(failure instanceof Fault))
        logger.error('Could not grant quotas (this is a bug; please report it)', {
          error: asError(failure).stack,
        });
    }
    const endMs = clock.nowMs();
    for (const bucket of buckets) {
      this.#registry.forgetIfUnused(bucket);
      const isWaiting =
        bucket.retryMs < Number.POSITIVE_INFINITY || this.#parts.board.concerns(bucket, endMs);
      if (isWaiting && bucket.subscribers.size > 0) this.#restless.add(bucket);
      else this.#restless.delete(bucket);
    }
  }

  /** Sends a proxy its share of a bucket. */
  #give(nowMs: number): Give {
    return (bucket, allotted, { subscriber, tokens, grants }) => {
      const { ttlS, intervalS } = bucket;
      const { counters } = this.#parts;
      if (allotted === 'kept') return;
      counters.assignments.add(1);
      if (allotted === 'denied') {
        counters.exhausted.add(1);
        bucket.waitForRoom(nowMs);
        answer(bucket, subscriber, 'deny_all', nowMs);
        return;
      }
      bucket.tell(subscriber, 'token_bucket', grants);
      subscriber.stream.assign(subscriber.id, { kind: 'token_bucket', tokens, intervalS }, ttlS);
    };
  }

  #startTimer(): void {
    this.#timer = this.#parts.clock.after(TICK_MS, () => {
      this.#tick(this.#parts.clock.nowMs());
      this.#startTimer();
    });
  }

  #tick(nowMs: number): void {
    for (const bucket of this.#restless) {
      const mayGetMore = bucket.retryMs <= nowMs;
      if (mayGetMore)
        for (const subscriber of bucket.subscribers)
          if (subscriber.told === 'deny_all') bucket.waiting.add(subscriber);
      if (mayGetMore || this.#parts.board.isDue(bucket, nowMs)) this.#schedule(bucket);
    }
    this.#sweep(nowMs);
  }

  /** Looks at some more buckets for idle ones. */
  #sweep(nowMs: number): void {
    if (this.#unswept.length === 0) {
      if (Math.abs(nowMs - this.#sweptMs) < SWEEP_MS) return;
      this.#sweptMs = nowMs;
      this.#unswept = [...this.#streams];
    }
    for (let looked = 0; looked < SWEEP_BUCKETS && this.#unswept.length > 0; ) {
      const stream = this.#unswept.pop()!;
      for (const membership of this.#registry.of(stream)) {
        this.#forgetIfIdle(membership, nowMs);
        looked++;
      }
      stream.flush();
    }
  }

  /** Tells a proxy to forget a bucket that it has not used for long. With its next request, it reports it again. */
  #forgetIfIdle(membership: Membership, nowMs: number): void {
    const { stream, subscriber } = membership;
    if (nowMs - subscriber.usedMs < IDLE_MS) return;
    stream.abandon(subscriber.id);
    this.#registry.forget(membership);
    this.#leave(membership, nowMs);
  }
}

/** Sends a proxy one answer for all requests of a bucket. */
function answer(
  bucket: QuotaBucket,
  subscriber: Subscriber,
  kind: 'allow_all' | 'deny_all',
  nowMs: number,
): void {
  bucket.tell(subscriber, kind, ended(subscriber.grants, nowMs, bucket.ttlS));
  subscriber.stream.assign(subscriber.id, { kind }, bucket.ttlS);
}

function decoded(message: Uint8Array): UsageReports {
  try {
    return decodeUsageReports(message);
  } catch (fault) {
    if (!(fault instanceof WireFault)) throw fault;
    throw new Fault('unparseable', `not a RateLimitQuotaUsageReports: ${fault.message}`);
  }
}

/** Checks the domain of a message. The first one of a stream must have one, and the others may have the same. */
function checkDomain(stream: QuotaStream, domain: string): void {
  const bytes = Buffer.byteLength(domain);
  if (bytes > MAX_DOMAIN_BYTES)
    throw new Fault('bad_request', `\`domain\` has ${bytes} bytes; it may have at most ${MAX_DOMAIN_BYTES}`);
  if (domain === '' && stream.domain === '')
    throw new Fault('bad_request', '`domain` is empty; set it in the first message of the stream');
  if (domain !== '' && stream.domain !== '' && domain !== stream.domain)
    throw new Fault(
      'bad_request',
      `\`domain\` is "${domain}", but the first message had "${stream.domain}"; open a stream for each domain`,
    );
}
