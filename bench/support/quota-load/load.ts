import { Pacer } from '../grpc-load/pacer.ts';
import { LatencyHistogram } from '../latency-histogram.ts';
import { type LoadWindow, LoadWindows, type WatchedProcesses } from '../load-window.ts';
import type { SeenActions } from './action-scanner.ts';
import { ProxyConnection, type ProxyObserver } from './proxy-connection.ts';
import { ReportFrames, type ReportTemplate } from './report-frames.ts';

/** Proxies that all have the same buckets. */
export interface QuotaLoad {
  readonly port: number;
  readonly proxies: number;
  readonly template: ReportTemplate;
  readonly watched: WatchedProcesses;
}

/** What proxies have done since their streams were opened. Each report is one message, of all buckets. */
export interface QuotaTotals extends SeenActions {
  /** Reports whose buckets were all answered, and how often one was sent that was not. */
  readonly reports: number;
  readonly unanswered: number;
  /** The fewest answered reports of a proxy, and how long it took until all proxies had one; NaN before. */
  readonly fewestOfProxy: number;
  readonly startMs: number;
  /** Reports that were answered in the present minute, by the clock of the machine, and those that were sent in it as well. */
  readonly answeredInMinute: number;
  readonly sentInMinute: number;
  /** When the present minute began, in seconds since the epoch. */
  readonly minuteS: number;
}

/** What a bench asks the process of a generator. Each fails once something has gone wrong. */
export type QuotaAnswers = {
  /** Opens the streams. Nothing is reported yet. */
  readonly open: (load: QuotaLoad) => Promise<void>;
  /** Lets the proxies report in turns: so many reports per second, or with null the next one when one is answered. */
  readonly drive: (reportsPerSecond: number | null) => void;
  /** What happened since the last mark. */
  readonly mark: () => LoadWindow;
  /** No more reports; those that are under way are waited for, for some seconds. */
  readonly rest: () => Promise<QuotaTotals>;
  /** Ends the streams. */
  readonly close: () => void;
};

/** A report that is not answered for this time is sent again, as Envoy does it: nothing is granted if the store is too slow. */
const REPEAT_MS = 5_000;
const REPEAT_CHECK_MS = 100;

/** How long the last answers may take. */
const ANSWER_MS = 6_000;

/**
 * Buckets in reports that are under way at a time, if reports follow on answers. The reports of real proxies are spread
 * over their interval, so those of a thousand proxies do not arrive together.
 */
const BUCKETS_UNDER_WAY = 10_000;

const MINUTE_MS = 60_000;

/** A proxy, and its report that is not answered yet. */
interface Proxy {
  readonly connection: ProxyConnection;
  /** Buckets of the report that are not answered yet. */
  missing: number;
  /** Reports that were answered. */
  reports: number;
  /** When the report was due, and when it was sent for the last time. */
  startedMs: number;
  sentMs: number;
  /** When further reports were due, which wait for the present one. */
  readonly heldMs: number[];
}

/** Proxies of this process. */
export class RunningQuotaLoad implements ProxyObserver {
  readonly #load: QuotaLoad;
  readonly #proxies = new Map<ProxyConnection, Proxy>();
  readonly #inTurn: readonly Proxy[];
  readonly #histogram = new LatencyHistogram();
  readonly #windows: LoadWindows;
  #isDriven = false;
  /** Whether an answer lets the next proxy report. */
  #follows = false;
  #pacing: NodeJS.Timeout | undefined;
  #turn = 0;
  readonly #repeating: NodeJS.Timeout;
  #open = 0;
  #reports = 0;
  #lost = 0;
  #unanswered: number;
  #startedMs = Number.NaN;
  #startMs = Number.NaN;
  #minute = 0;
  #answeredInMinute = 0;
  #sentInMinute = 0;
  #fault = '';
  #onQuiet: () => void = () => {};

  private constructor(load: QuotaLoad) {
    this.#load = load;
    const frames = new ReportFrames(load.template);
    this.#inTurn = Array.from({ length: load.proxies }, () => {
      const connection = new ProxyConnection(load.port, frames, this);
      const proxy: Proxy = { connection, missing: 0, reports: 0, startedMs: 0, sentMs: 0, heldMs: [] };
      this.#proxies.set(connection, proxy);
      return proxy;
    });
    this.#unanswered = load.proxies;
    this.#windows = new LoadWindows(load.watched, this.#histogram);
    this.#repeating = setInterval(() => this.#repeat(), REPEAT_CHECK_MS);
  }

  /** Opens the streams of all proxies. */
  static async open(load: QuotaLoad): Promise<RunningQuotaLoad> {
    const running = new RunningQuotaLoad(load);
    try {
      await Promise.all(running.#inTurn.map(({ connection }) => connection.ready));
    } catch (failure) {
      running.close();
      throw failure;
    }
    return running;
  }

  drive(reportsPerSecond: number | null): void {
    this.#isDriven = true;
    this.#follows = reportsPerSecond === null;
    const nowMs = performance.now();
    if (Number.isNaN(this.#startedMs)) this.#startedMs = nowMs;
    if (reportsPerSecond === null) {
      const { proxies, template } = this.#load;
      const together = Math.min(Math.ceil(BUCKETS_UNDER_WAY / template.buckets), proxies);
      for (let i = 0; i < together; i++) this.#reportNextIdle(nowMs);
    } else this.#pace(new Pacer(reportsPerSecond, nowMs));
  }

  mark(): LoadWindow {
    this.#throwFault();
    return this.#windows.mark();
  }

  async rest(): Promise<QuotaTotals> {
    this.#isDriven = false;
    clearTimeout(this.#pacing);
    for (const { heldMs } of this.#inTurn) heldMs.length = 0;
    const quiet = new Promise<void>(resolve => {
      this.#onQuiet = resolve;
    });
    const timer = setTimeout(() => this.#giveUp(), ANSWER_MS);
    if (this.#open > 0 && this.#fault === '') await quiet;
    clearTimeout(timer);
    this.#throwFault();
    return this.#totals();
  }

  close(): void {
    clearTimeout(this.#pacing);
    clearInterval(this.#repeating);
    for (const { connection } of this.#inTurn) connection.close();
  }

  onActions(connection: ProxyConnection, actions: number, nowMs: number): void {
    const proxy = this.#proxies.get(connection)!;
    const excess = actions - proxy.missing;
    // An answer to a report that was sent again may come twice, and a proxy that was denied everything may get more later.
    if (excess > 0 && this.#lost === 0 && connection.seen.others === 0) {
      this.onFault(`a proxy got ${excess} actions more than it has reported buckets`);
      return;
    }
    if (proxy.missing === 0) return;
    proxy.missing = Math.max(proxy.missing - actions, 0);
    if (proxy.missing > 0) return;
    this.#answered(proxy, nowMs);
    const next = proxy.heldMs.shift();
    if (next !== undefined) this.#report(proxy, next);
    else if (this.#isDriven && this.#follows) this.#reportNextIdle(nowMs);
    else if (this.#open === 0) this.#onQuiet();
  }

  onFault(text: string): void {
    this.#fault ||= text;
    this.#isDriven = false;
    clearTimeout(this.#pacing);
    this.#onQuiet();
  }

  #answered(proxy: Proxy, nowMs: number): void {
    this.#histogram.record(nowMs - proxy.startedMs);
    this.#reports++;
    this.#open--;
    if (proxy.reports++ === 0 && --this.#unanswered === 0) this.#startMs = nowMs - this.#startedMs;
    const minute = minuteAt(nowMs);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#answeredInMinute = 0;
      this.#sentInMinute = 0;
    }
    this.#answeredInMinute++;
    if (minuteAt(proxy.sentMs) === minute) this.#sentInMinute++;
  }

  #report(proxy: Proxy, startedMs: number): void {
    proxy.startedMs = startedMs;
    this.#open++;
    this.#send(proxy);
  }

  #send(proxy: Proxy): void {
    proxy.missing = this.#load.template.buckets;
    proxy.sentMs = performance.now();
    proxy.connection.report();
  }

  #repeat(): void {
    const nowMs = performance.now();
    for (const proxy of this.#inTurn) {
      if (proxy.missing === 0 || nowMs - proxy.sentMs < REPEAT_MS) continue;
      this.#lost++;
      this.#send(proxy);
    }
  }

  #pace(pacer: Pacer): void {
    const tick = (): void => {
      pacer.due(performance.now(), (reports, startedMs) => {
        for (let i = 0; i < reports; i++) this.#reportNext(startedMs);
      });
      if (this.#isDriven) this.#pacing = setTimeout(tick, 1);
    };
    tick();
  }

  /** The proxies report in turns. */
  #reportNext(startedMs: number): void {
    const proxy = this.#inTurn[this.#turn++ % this.#inTurn.length];
    if (proxy.missing > 0) proxy.heldMs.push(startedMs);
    else this.#report(proxy, startedMs);
  }

  /** Fewer reports than proxies are under way. */
  #reportNextIdle(nowMs: number): void {
    for (;;) {
      const proxy = this.#inTurn[this.#turn++ % this.#inTurn.length];
      if (proxy.missing > 0) continue;
      this.#report(proxy, nowMs);
      return;
    }
  }

  #totals(): QuotaTotals {
    const seen = this.#inTurn.map(({ connection }) => connection.seen);
    const sum = (of: (each: SeenActions) => number) => seen.reduce((total, each) => total + of(each), 0);
    return {
      reports: this.#reports,
      unanswered: this.#lost,
      fewestOfProxy: Math.min(...this.#inTurn.map(proxy => proxy.reports)),
      startMs: this.#startMs,
      tokenBuckets: sum(each => each.tokenBuckets),
      others: sum(each => each.others),
      mostTokens: Math.max(...seen.map(each => each.mostTokens)),
      longestTtlS: Math.max(...seen.map(each => each.longestTtlS)),
      answeredInMinute: this.#answeredInMinute,
      sentInMinute: this.#sentInMinute,
      minuteS: (this.#minute * MINUTE_MS) / 1_000,
    };
  }

  #giveUp(): void {
    for (const proxy of this.#inTurn) proxy.missing = 0;
    this.#lost += this.#open;
    this.#open = 0;
    this.#onQuiet();
  }

  #throwFault(): void {
    if (this.#fault === '') return;
    this.close();
    throw new Error(this.#fault);
  }
}

/** The number of the minute of a time of `performance.now`, by the clock of the machine. */
function minuteAt(ms: number): number {
  return Math.floor((performance.timeOrigin + ms) / MINUTE_MS);
}
