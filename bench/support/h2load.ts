import { readFile, rm } from 'node:fs/promises';
import { Child } from '../../test/support/child-process.ts';
import { type H2loadSummary, parseH2loadSummary } from './h2load-summary.ts';
import { readRequestLog } from './request-log.ts';

/** Load on a server over HTTP/2 with prior knowledge: every stream asks again as soon as it has its answer. */
export interface H2loadRun {
  readonly url: string;
  readonly connections: number;
  readonly streamsPerConnection: number;
  /** Load before what is measured. */
  readonly warmUpMs: number;
  readonly measuredMs: number;
  /** Path of the file that is sent with each request. */
  readonly bodyFile: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Called when the measured time begins and when it ends. */
  readonly onMeasuring?: () => void;
  readonly onMeasured?: () => void;
}

/** A run that takes this much longer than it should is ended. */
const PATIENCE_MS = 10_000;

const MEASURING = 'Main benchmark duration is started';
const MEASURED = 'Main benchmark duration is over';

/** Fails with advice when there is no h2load. */
export async function requireH2load(): Promise<string> {
  const child = new Child({ command: 'h2load', args: ['--version'], env: process.env });
  try {
    await child.ended;
  } catch {
    throw new Error(
      'there is no h2load on the PATH. Install the package nghttp2-client (Debian, Ubuntu: ' +
        'sudo apt-get install nghttp2-client) or nghttp2 (macOS: brew install nghttp2) and run this again.',
    );
  }
  return child.output.trim();
}

/** Runs h2load. Fails when one request was not answered with a status of the 200s: such figures are worth nothing. */
export async function runH2load(run: H2loadRun, logFile?: string): Promise<H2loadSummary> {
  const child = new Child({
    command: 'h2load',
    args: argumentsOf(run, logFile),
    env: process.env,
  });
  child.onLine(line => {
    if (line.startsWith(MEASURING)) run.onMeasuring?.();
    if (line.startsWith(MEASURED)) run.onMeasured?.();
  });
  const timer = setTimeout(() => child.signal('SIGKILL'), run.warmUpMs + run.measuredMs + PATIENCE_MS);
  try {
    const { status, signal } = await child.ended;
    if (status !== 0)
      throw new Error(`h2load ended with ${signal ?? `status ${status}`}; it printed:\n${child.output}`);
  } finally {
    clearTimeout(timer);
  }
  const summary = parseH2loadSummary(child.output);
  if (summary.failed > 0 || summary.succeeded === 0) {
    throw new Error(
      `${summary.failed} of ${summary.failed + summary.succeeded} requests to ${run.url} failed; ` +
        `h2load printed:\n${child.output}`,
    );
  }
  return summary;
}

/** Runs h2load with a log, and gives the microseconds that each request took, in ascending order. */
export async function runLoggedH2load(run: H2loadRun, logFile: string): Promise<Uint32Array> {
  try {
    await runH2load(run, logFile);
    return readRequestLog(await readFile(logFile));
  } finally {
    await rm(logFile, { force: true });
  }
}

function argumentsOf(run: H2loadRun, logFile: string | undefined): string[] {
  return [
    `--clients=${run.connections}`,
    `--max-concurrent-streams=${run.streamsPerConnection}`,
    `--duration=${run.measuredMs}ms`,
    `--warm-up-time=${run.warmUpMs}ms`,
    `--data=${run.bodyFile}`,
    ...run.headers.map(([name, value]) => `--header=${name}: ${value}`),
    ...(logFile === undefined ? [] : [`--log-file=${logFile}`]),
    run.url,
  ];
}
