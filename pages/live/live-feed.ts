import { callApi, type RatePoint, type Refusal, type Status } from './api.ts';

/** Whether the figures are current. */
export type Connection =
  /** Nothing has been received yet. */
  | 'connecting'
  | 'live'
  /** The figures are old, because Sluice does not answer. */
  | 'lost'
  /** The figures are old, because the user stopped the updates. */
  | 'paused';

/** What Sluice reports by itself. */
export interface Live {
  readonly connection: Connection;
  /** When the figures were received, on this computer's clock; 0 if none were. */
  readonly receivedMs: number;
  /** Null until it was received, or if the service does not report it. */
  readonly status: Status | null;
  /** Hits of the last seconds. */
  readonly rates: RatePoint | null;
  /** The latest first. */
  readonly rejections: readonly Refusal[];
  /** Time of the service: that of its last report, and what has passed since. */
  readonly nowMs: number;
}

/** Maximum number of rejections that are kept. */
const MAX_REJECTIONS = 50;

/** Reports come every second. After this long without one, the connection counts as lost. */
const SILENCE_MS = 5_000;

/** How often to ask if the service has no stream for this page, because too many pages have one. */
const ASK_EVERY_MS = 2_000;

/** How long until the page asks for a stream again. */
const STREAM_AGAIN_MS = 30_000;

/** The body of the event `status`. */
type StatusEvent = Status & { readonly rates: RatePoint | null };

/**
 * Receives the figures of the service while the tab is visible: by server-sent events, or else by asking every two
 * seconds. It reconnects by itself.
 */
export class LiveFeed {
  #live: Live = {
    connection: 'connecting',
    receivedMs: 0,
    status: null,
    rates: null,
    rejections: [],
    nowMs: Date.now(),
  };
  readonly #listeners = new Set<() => void>();
  #paused = false;
  #stream: EventSource | null = null;
  #streamAgainAtMs = 0;
  /** Ends what runs while the tab is visible; null while nothing does. */
  #running: AbortController | null = null;
  #asking = false;
  #offsetMs = 0;

  get live(): Live {
    return this.#live;
  }

  /** Calls `listener` after each change, until the returned function is called. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Begins for as long as the page is open. */
  start(): void {
    document.addEventListener('visibilitychange', () => this.#follow());
    this.#follow();
  }

  /** Stops or resumes the updates. */
  pause(paused: boolean): void {
    this.#paused = paused;
    this.#follow();
    this.#update({ connection: paused ? 'paused' : this.#live.receivedMs === 0 ? 'connecting' : 'live' });
  }

  /** Runs if the tab is visible and the updates are not paused. */
  #follow(): void {
    const runs = !document.hidden && !this.#paused;
    if (runs && this.#running === null) {
      this.#running = new AbortController();
      this.#runUntil(this.#running.signal);
    } else if (!runs) {
      this.#running?.abort();
      this.#running = null;
    }
  }

  #runUntil(end: AbortSignal): void {
    const startedMs = Date.now();
    const tick = setInterval(() => this.#tick(startedMs), 1_000);
    const ask = setInterval(() => void this.#askWithoutStream(end), ASK_EVERY_MS);
    end.addEventListener('abort', () => {
      clearInterval(tick);
      clearInterval(ask);
      this.#closeStream();
    });
    this.#openStream();
    void this.#askRejections(end);
  }

  #tick(startedMs: number): void {
    const silentMs = Date.now() - Math.max(this.#live.receivedMs, startedMs);
    const nowMs = Date.now() + this.#offsetMs;
    this.#update(silentMs > SILENCE_MS ? { connection: 'lost', nowMs } : { nowMs });
  }

  #openStream(): void {
    const stream = new EventSource('/api/v1/events');
    this.#stream = stream;
    stream.addEventListener('status', event => this.#report(JSON.parse(event.data) as StatusEvent));
    stream.addEventListener('rejections', event => this.#reject(JSON.parse(event.data).refusals));
    stream.addEventListener('error', () => {
      // Otherwise the browser connects again by itself.
      if (stream.readyState !== EventSource.CLOSED) return;
      this.#closeStream();
      this.#streamAgainAtMs = Date.now() + STREAM_AGAIN_MS;
    });
  }

  #closeStream(): void {
    this.#stream?.close();
    this.#stream = null;
  }

  async #askWithoutStream(end: AbortSignal): Promise<void> {
    if (this.#stream !== null || this.#asking) return;
    if (Date.now() >= this.#streamAgainAtMs) return this.#openStream();
    this.#asking = true;
    const [status, rates] = await Promise.all([
      callApi<Status>('/status', { signal: end }).catch(() => null),
      callApi<{ points: readonly RatePoint[] }>('/rates', { signal: end }).catch(() => null),
    ]);
    this.#asking = false;
    if (end.aborted || rates === null) return;
    const last = rates.points.at(-1) ?? null;
    if (status !== null) this.#report({ ...status, rates: last });
    else this.#update({ connection: 'live', receivedMs: Date.now(), rates: last });
    await this.#askRejections(end);
  }

  async #askRejections(end: AbortSignal): Promise<void> {
    const path = `/refusals?limit=${MAX_REJECTIONS}`;
    const answer = await callApi<{ refusals: readonly Refusal[] }>(path, { signal: end }).catch(() => null);
    if (answer !== null && !end.aborted) this.#update({ rejections: answer.refusals });
  }

  #report({ rates, ...status }: StatusEvent): void {
    const receivedMs = Date.now();
    this.#offsetMs = Date.parse(status.time) - receivedMs;
    this.#update({ connection: 'live', receivedMs, nowMs: Date.parse(status.time), status, rates });
  }

  #reject(latest: readonly Refusal[]): void {
    this.#update({ rejections: [...latest, ...this.#live.rejections].slice(0, MAX_REJECTIONS) });
  }

  #update(change: Partial<Live>): void {
    this.#live = { ...this.#live, ...change };
    for (const listener of this.#listeners) listener();
  }
}
