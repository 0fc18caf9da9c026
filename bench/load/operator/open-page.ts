import { setTimeout as sleep } from 'node:timers/promises';
import { operatorEvents } from '../../../src/cli/operator/event-stream.ts';

/** What a view reads of the operator's API in addition to the events, and how often; 0 for once. */
type View = readonly (readonly [path: string, everyMs: number])[];

/** Views of the live page, with what `usePolled` reads for them in `pages/live`. */
export const VIEWS = {
  overview: [
    ['/refusals?limit=50', 0],
    ['/rates', 10_000],
    ['/rates?by=limit', 10_000],
    ['/limits?sort=refused&count=12', 2_000],
  ],
  limit: [
    ['/refusals?limit=50', 0],
    ['/limits/0', 2_000],
    ['/limits/0/keys?span=minute&limit=20', 2_000],
    ['/limits/0/refusals?limit=12', 2_000],
    ['/bans', 2_000],
    ['/passes', 2_000],
    ['/overrides', 2_000],
  ],
} as const satisfies Record<string, View>;
export type ViewName = keyof typeof VIEWS;

/** An open live page without a browser: it receives the events, and asks as often as a view does. */
export class OpenPage {
  readonly #address: string;
  readonly #events: ReturnType<typeof operatorEvents>;
  readonly #end = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  private constructor(debugPort: number) {
    this.#address = `127.0.0.1:${debugPort}`;
    this.#events = operatorEvents(this.#address);
  }

  /** Resolves when the page has everything that it shows. */
  static async open(debugPort: number, view: ViewName): Promise<OpenPage> {
    const page = new OpenPage(debugPort);
    try {
      await page.#events.next();
      for (const [path] of VIEWS[view]) await page.#ask(path);
    } catch (failure) {
      await page.close();
      throw failure;
    }
    const polls = VIEWS[view].filter(([, everyMs]) => everyMs > 0);
    page.#running = Promise.all([
      page.#receive(),
      ...polls.map(([path, everyMs]) => page.#poll(path, everyMs)),
    ]);
    // A failure is thrown when the page is closed.
    page.#running.catch(() => {});
    return page;
  }

  /** @throws Error if an answer was not as it has to be while the page was open */
  async close(): Promise<void> {
    this.#end.abort();
    await this.#running;
    await this.#events.return(undefined);
  }

  async #receive(): Promise<void> {
    while (!this.#end.signal.aborted) if ((await this.#events.next()).done) return;
  }

  async #poll(path: string, everyMs: number): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted) {
      await sleep(everyMs, undefined, { signal }).catch(() => {});
      if (!signal.aborted) await this.#ask(path);
    }
  }

  async #ask(path: string): Promise<void> {
    const response = await fetch(`http://${this.#address}/api/v1${path}`);
    const text = await response.text();
    if (response.status !== 200)
      throw new Error(`${path} was answered with status ${response.status}: ${text}`);
  }
}
