/** What h2load says at its end. */
export interface H2loadSummary {
  /** Requests a second in the measured time. */
  readonly requestsPerSecond: number;
  /** Requests that got a whole answer. */
  readonly succeeded: number;
  /** Those that did not, and answers with another HTTP status than those of the 200s. */
  readonly failed: number;
  /** Mean time from request to the end of its answer; of all requests, or of a million of them if there were more. */
  readonly meanLatencyMs: number;
}

const FINISHED = /^finished in [\d.]+\w+, ([\d.]+) req\/s/m;
const REQUESTS =
  /^requests: \d+ total, \d+ started, (\d+) done, (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout/m;
/** The 2xx are not compared: answers that began before the measured time and ended in it lack there. */
const STATUS_CODES = /^status codes: \d+ 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx/m;
/** Columns: the shortest, the longest, the mean. */
const REQUEST_TIME = /^time for request:\s+\S+\s+\S+\s+([\d.]+)(us|ms|s)\s/m;

const UNIT_MICROS: Readonly<Record<string, number>> = { us: 1, ms: 1_000, s: 1_000_000 };

/** Reads the summary that h2load prints. Throws an Error that quotes the text when a line of it is missing. */
export function parseH2loadSummary(text: string): H2loadSummary {
  const line = (pattern: RegExp): RegExpExecArray => {
    const match = pattern.exec(text);
    if (match === null) throw new Error(`h2load printed no summary that can be read; it printed:\n${text}`);
    return match;
  };
  const [, rate] = line(FINISHED);
  const [, done, succeeded, failed, errored, timeout] = line(REQUESTS).map(Number);
  const [, mean, unit] = line(REQUEST_TIME);
  // The three overlap: a request that timed out is also counted as one that failed.
  const unanswered = Math.max(failed, errored, timeout, done - succeeded);
  const [, redirected, refused, broken] = line(STATUS_CODES).map(Number);
  return {
    requestsPerSecond: Number(rate),
    succeeded,
    failed: unanswered + redirected + refused + broken,
    meanLatencyMs: (Number(mean) * UNIT_MICROS[unit]) / 1_000,
  };
}
