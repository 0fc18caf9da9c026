import type { Clock } from '../../../base/clock.ts';
import { seriesText } from './text-format.ts';

/** What every process shows, under the names that Prometheus' own libraries use. */
export function processLines(labels: string, clock: Clock): string {
  const { user, system } = process.cpuUsage();
  const startedAt = Math.round(clock.nowMs() / 1000 - process.uptime());
  const metric = (name: string, type: string, help: string, value: number): string =>
    `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${seriesText(name, labels)} ${value}\n`;
  return [
    metric('process_cpu_seconds_total', 'counter', 'Processor time in use so far.', (user + system) / 1e6),
    metric('process_resident_memory_bytes', 'gauge', 'Memory that is held.', process.memoryUsage.rss()),
    metric('process_start_time_seconds', 'gauge', 'When the process started.', startedAt),
  ].join('');
}
