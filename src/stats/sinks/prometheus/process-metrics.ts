import { readFileSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import type { Clock } from '../../../base/clock.ts';
import type { StatsReader } from '../../registry.ts';
import { helpText, labelText, seriesText, valueText } from './text-format.ts';

interface Metric {
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  /** Null on systems that do not tell. */
  readonly value: number | null;
  /** Text between the braces. Default: the labels of every metric. */
  readonly labels?: string;
}

/** The beginning of the names of timers that measure garbage collections of the primary thread. */
const PRIMARY_GC = 'ratelimit.gc.primary.';

/** Metrics of the process, under the names that Prometheus client libraries and dashboards use. */
export class ProcessMetrics {
  readonly #version: string;
  readonly #stats: StatsReader;
  readonly #clock: Clock;
  readonly #maxOpenFiles = maxOpenFiles();
  #openFiles: number | null = null;

  /** @param version of this program */
  constructor(version: string, stats: StatsReader, clock: Clock) {
    this.#version = version;
    this.#stats = stats;
    this.#clock = clock;
  }

  /** Reads what cannot be read immediately. Call it before {@link lines}. */
  async collect(): Promise<void> {
    this.#openFiles = await entriesOf('/proc/self/fd');
  }

  /** The metrics in the text format. */
  lines(labels: string): string {
    return this.#metrics(labels)
      .map(({ name, type, help, value, labels: own = labels }) =>
        value === null
          ? ''
          : `# HELP ${name} ${helpText(help)}\n# TYPE ${name} ${type}\n${seriesText(name, own)} ${valueText(value)}\n`,
      )
      .join('');
  }

  #metrics(labels: string): Metric[] {
    const { user, system } = process.cpuUsage();
    const versions = `${labelText('node', process.versions.node)},${labelText('version', this.#version)}`;
    const gauge = (name: string, help: string, value: number | null): Metric => ({
      name,
      type: 'gauge',
      help,
      value,
    });
    return [
      {
        ...gauge('sluice_build_info', 'Version of Sluice and of Node.js. The value is always 1.', 1),
        labels: labels === '' ? versions : `${labels},${versions}`,
      },
      {
        name: 'process_cpu_seconds_total',
        type: 'counter',
        help: 'Processor time used.',
        value: (user + system) / 1e6,
      },
      gauge('process_resident_memory_bytes', 'Resident memory size.', process.memoryUsage.rss()),
      gauge('process_virtual_memory_bytes', 'Virtual memory size.', virtualMemory()),
      gauge(
        'process_start_time_seconds',
        'Start time of the process.',
        Math.round(this.#clock.nowMs() / 1000 - process.uptime()),
      ),
      gauge('process_open_fds', 'Open file descriptors.', this.#openFiles),
      gauge('process_max_fds', 'Maximum number of open file descriptors.', this.#maxOpenFiles),
      gauge(
        'go_memstats_gc_cpu_fraction',
        'Fraction of the time of the primary thread spent on garbage collection. Dashboards ask for this name.',
        this.#collectingMs() / performance.now(),
      ),
    ];
  }

  /** Garbage collection time of the primary thread. Other threads have their own heaps. */
  #collectingMs(): number {
    let sum = 0;
    for (const [name, { sumMs }] of this.#stats.timers()) if (name.startsWith(PRIMARY_GC)) sum += sumMs;
    return sum;
  }
}

/** Virtual memory in bytes; null on systems other than Linux. */
function virtualMemory(): number | null {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    // The name of the program, in parentheses, may contain any characters. `vsize` is the 21st field after it.
    const bytes = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[20]);
    return Number.isFinite(bytes) ? bytes : null;
  } catch {
    return null;
  }
}

/**
 * Number of entries of a folder of `/proc`; null if there is no such folder. Since Linux 6.2, it is the size of
 * `/proc/self/fd`, so that folder need not be listed, which takes longer the more connections there are.
 */
export async function entriesOf(folder: string): Promise<number | null> {
  try {
    return (await stat(folder)).size || (await readdir(folder)).length;
  } catch {
    return null;
  }
}

/** The limit that applies to the process; null without a limit, and on systems other than Linux. */
function maxOpenFiles(): number | null {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    const soft = /^Max open files +(\d+) /m.exec(limits)?.[1];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}
