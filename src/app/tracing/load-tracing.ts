import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Settings } from '../../settings/table.ts';
import type { StatsRegistry } from '../../stats/registry.ts';
import type { OtlpTracing } from './otlp-tracing.ts';

/** Opens tracing in the calling thread, which stops it. The spans are counted in the statistics. */
export type OpenTracing = (stats: StatsRegistry) => OtlpTracing;

/**
 * Loads OpenTelemetry if tracing is enabled; null otherwise, because the library takes memory and time at startup.
 *
 * @throws Error that names the variable, if the endpoint of the collector is invalid
 */
export async function loadTracing(
  settings: Settings,
  surroundings: { readonly clock: Clock; readonly logger: Logger },
): Promise<OpenTracing | null> {
  if (!settings.tracingEnabled) return null;
  const { OtlpTracing } = await import('./otlp-tracing.ts');
  const open = await OtlpTracing.load(settings);
  return stats => open({ ...surroundings, stats });
}
