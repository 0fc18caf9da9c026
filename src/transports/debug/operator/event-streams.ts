import type { Clock, Timer } from '../../../base/clock.ts';
import { asError } from '../../../base/fault.ts';
import type { Logger } from '../../../base/logger.ts';
import type { LastRefusals } from '../../../decision/hot-keys/last-refusals.ts';
import type { Refusal } from '../../../decision/hot-keys/refusal-table.ts';
import type { AnswerHead } from '../../http/answer.ts';
import type { Exchange } from '../../http/exchange.ts';
import { API_HEADERS, OperatorProblem } from './problem.ts';
import { refusalView } from './refusal.ts';

/** Maximum number of streams. Further requests are refused. */
export const MAX_STREAMS = 32;

const EVERY_MS = 1_000;

/** Maximum number of rejections in an event. */
const MAX_REJECTIONS = 20;

/** Number of rejections that are looked at, to tell how many an event leaves out. */
const MAX_READ = 500;

/** A reader that has not taken this number of successive events is disconnected. */
const MAX_MISSED = 5;

const HEAD: AnswerHead = { status: '200 OK', contentType: 'text/event-stream', headers: API_HEADERS };

interface StreamParts {
  readonly status: () => Promise<unknown>;
  /** The last refusals from a time on, the latest first; null if they are not recorded. */
  readonly refusals: LastRefusals['since'] | null;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * The readers of server-sent events. The events are made once a second for all readers together, and only while there are
 * any. A reader that is slow misses events, and is disconnected if it misses several.
 */
export class EventStreams {
  readonly #parts: StreamParts;
  /** The readers, and how many successive events each one has missed. */
  readonly #readers = new Map<Exchange, number>();
  #timer: Timer | null = null;
  #isSending = false;
  #stopped = false;
  /** The time of the latest rejection that was sent or that happened before. */
  #sentUntilMs = 0;
  /** The rejections of that millisecond that were sent: others may be recorded later. */
  #sentLast = new Set<string>();

  constructor(parts: StreamParts) {
    this.#parts = parts;
  }

  /** @throws OperatorProblem if there are too many streams */
  open(exchange: Exchange): void {
    if (this.#stopped || this.#readers.size >= MAX_STREAMS) throw tooManyStreams();
    if (!exchange.open(HEAD)) return;
    // A reader that waits for its first event knows that it is connected.
    exchange.push(': connected\n\n');
    if (this.#readers.size === 0) this.#sentUntilMs = this.#parts.clock.nowMs();
    this.#readers.set(exchange, 0);
    void this.#send();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    for (const reader of this.#readers.keys()) reader.close();
    this.#readers.clear();
  }

  async #send(): Promise<void> {
    if (this.#isSending) return;
    this.#timer?.cancel();
    for (const reader of this.#readers.keys()) if (reader.over) this.#readers.delete(reader);
    if (this.#readers.size === 0) return;
    this.#isSending = true;
    const startedMs = this.#parts.clock.nowMs();
    try {
      const text = `${eventText('status', await this.#parts.status())}${this.#rejections()}`;
      this.#pushToAll(text);
    } catch (failure) {
      const error = asError(failure);
      this.#parts.log.error(
        "Could not make the events of the operator's API; the next attempt is in a second",
        {
          error: error.message,
        },
      );
    } finally {
      this.#isSending = false;
    }
    if (this.#stopped || this.#readers.size === 0) return;
    const tookMs = Math.max(this.#parts.clock.nowMs() - startedMs, 0);
    this.#timer = this.#parts.clock.after(Math.max(EVERY_MS - tookMs, EVERY_MS / 2), () => void this.#send());
  }

  #pushToAll(text: string): void {
    for (const [reader, missed] of this.#readers) {
      if (reader.push(text)) this.#readers.set(reader, 0);
      else if (missed + 1 < MAX_MISSED) this.#readers.set(reader, missed + 1);
      else {
        this.#readers.delete(reader);
        reader.close();
      }
    }
  }

  /** The event with the rejections since the last one; empty if there were none. */
  #rejections(): string {
    const { refusals } = this.#parts;
    if (refusals === null) return '';
    // The clock may have been set back.
    this.#sentUntilMs = Math.min(this.#sentUntilMs, this.#parts.clock.nowMs());
    const untilMs = this.#sentUntilMs;
    const fresh = refusals(untilMs, MAX_READ).filter(
      refusal => refusal.timeMs > untilMs || !this.#sentLast.has(identityOf(refusal)),
    );
    if (fresh.length === 0) return '';
    const [{ timeMs: latestMs }] = fresh;
    if (latestMs > untilMs) this.#sentLast = new Set();
    for (const refusal of fresh) if (refusal.timeMs === latestMs) this.#sentLast.add(identityOf(refusal));
    this.#sentUntilMs = latestMs;
    const listed = fresh.slice(0, MAX_REJECTIONS);
    return eventText('rejections', {
      refusals: listed.map(refusalView),
      left_out: fresh.length - listed.length,
    });
  }
}

function identityOf(refusal: Refusal): string {
  return JSON.stringify(refusalView(refusal));
}

function tooManyStreams(): OperatorProblem {
  return new OperatorProblem(
    'overloaded',
    `${MAX_STREAMS} clients already receive events. Close one of them, or read /status instead.`,
    { headers: { 'Retry-After': '5' } },
  );
}

/** JSON has no line breaks of its own, so an event is always one line of data. */
function eventText(name: string, data: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
