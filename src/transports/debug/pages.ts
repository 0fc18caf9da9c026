import type { StatsReader } from '../../stats/registry.ts';
import { statsLines } from '../../stats/text.ts';
import { TEXT_PAGE, textAnswer } from '../http/answer.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Handler, Route } from '../http/routes.ts';
import { errorAnswer } from '../http/status.ts';

/** Pages of any length are made for this many readers at once; each of them costs the decisions some time. */
export const MAX_PAGE_READERS = 8;

const TOO_MANY_READERS = errorAnswer({
  code: 'overloaded',
  message: `${MAX_PAGE_READERS} readers are being served: read faster, or try again when one of them has ended`,
});

/** The pages that may be long, and how many are being read. */
class LongPages {
  #readers = 0;

  /** Sends the lines while they are made. */
  async send(exchange: Exchange, lines: () => Iterable<string>): Promise<void> {
    if (this.#readers === MAX_PAGE_READERS) return exchange.answer(TOO_MANY_READERS);
    this.#readers++;
    try {
      await exchange.stream(TEXT_PAGE, lines());
    } catch (thrown) {
      exchange.fail(thrown);
    } finally {
      this.#readers--;
    }
  }
}

/**
 * `/rlconfig`: the rules in force, as `dump` writes them; empty while none are loaded. `/stats`: every statistic, one
 * `name: value` line each (spec 4.3). They share one bound of readers.
 */
export function longPageRoutes(dump: () => Iterable<string>, stats: StatsReader): Route[] {
  const pages = new LongPages();
  return [
    {
      path: '/rlconfig',
      method: 'GET or POST',
      help: 'the rules in force, one line per limit',
      handle: exchange => void pages.send(exchange, dump),
    },
    {
      path: '/stats',
      method: 'GET or POST',
      help: 'the statistics since the start of the process',
      handle: exchange => void pages.send(exchange, () => statsLines(stats)),
    },
  ];
}

/** `/` and the answer to unknown paths: one line `<path>: <help>` per route, sorted by path. */
export function indexPages(routes: readonly Route[]): { readonly root: Route; readonly unknown: Handler } {
  const lines = routes.map(route => `${route.path}: ${route.help}\n`);
  const page = lines.sort().join('');
  const found = textAnswer(page);
  // The reference implementation says 200 here, which hides a mistyped path from scripts.
  const notFound = textAnswer(page, '404 Not Found');
  return {
    root: { path: '/', method: 'GET or POST', help: 'this list', handle: exchange => exchange.answer(found) },
    unknown: exchange => exchange.answer(notFound),
  };
}
