import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Child } from './child-process.ts';
import { freePort } from './free-port.ts';
import { type Teardown, tempDirectory } from './temp-directory.ts';
import { missing, toolPath } from './tools.ts';

/** Why tests with Prometheus are skipped; false if it is there. */
export const WITHOUT_PROMETHEUS = missing('prometheus', 'prometheus');

/** Longest wait for the server to start or to stop. */
const PATIENCE_MS = 30_000;

/** One series of an answer, with its values in order. */
export interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly values: readonly number[];
}

interface Test extends Teardown {
  teardown(run: () => unknown): void;
}

/**
 * Starts a real Prometheus on loopback that scrapes these addresses every second, as one job. It is stopped with the test.
 *
 * @param addresses `host:port` of metrics ports
 */
export async function startPrometheus(
  t: Test,
  job: string,
  addresses: readonly string[],
): Promise<PrometheusServer> {
  const directory = tempDirectory(t);
  const file = join(directory, 'prometheus.yml');
  const scrape = { job_name: job, static_configs: [{ targets: addresses }] };
  // JSON is YAML.
  writeFileSync(file, JSON.stringify({ global: { scrape_interval: '1s' }, scrape_configs: [scrape] }));
  const address = `127.0.0.1:${await freePort()}`;
  const child = new Child({
    command: toolPath('prometheus'),
    args: [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(directory, 'data')}`,
      `--web.listen-address=${address}`,
    ],
  });
  t.teardown(() => child.end('SIGTERM', PATIENCE_MS));
  await child.line(line => (line.includes('ready to receive web requests') ? true : undefined), PATIENCE_MS);
  return new PrometheusServer(address);
}

/** A running Prometheus of a test's own. */
export class PrometheusServer {
  readonly #address: string;

  constructor(address: string) {
    this.#address = address;
  }

  /** The series of an expression now. */
  async now(expr: string): Promise<Series[]> {
    const { result } = await this.#ask('query', { query: expr });
    return result.map(({ metric, value }: { metric: Series['labels']; value: [number, string] }) => ({
      labels: metric,
      values: [Number(value[1])],
    }));
  }

  /** The series of an expression during the last `seconds`, one value per second. */
  async recently(expr: string, seconds: number): Promise<Series[]> {
    const end = Date.now() / 1_000;
    const range = { start: String(end - seconds), end: String(end), step: '1' };
    const { result } = await this.#ask('query_range', { query: expr, ...range });
    return result.map(({ metric, values }: { metric: Series['labels']; values: [number, string][] }) => ({
      labels: metric,
      values: values.map(([, value]) => Number(value)),
    }));
  }

  /** The values of a label of the series that a selector finds. */
  async labelValues(selector: string, label: string): Promise<string[]> {
    return await this.#ask(`label/${label}/values`, { 'match[]': selector });
  }

  // biome-ignore lint/suspicious/noExplicitAny: its shape depends on what is asked
  async #ask(path: string, query: Readonly<Record<string, string>>): Promise<any> {
    const response = await fetch(`http://${this.#address}/api/v1/${path}?${new URLSearchParams(query)}`);
    const { status, error, data } = (await response.json()) as Record<string, unknown>;
    if (status !== 'success') throw new Error(`${query['query'] ?? path}: ${error}`);
    return data;
  }
}
