import {
  createNoopMeter,
  type Meter,
  type MeterProvider,
  type Counter as OtelCounter,
} from '@opentelemetry/api';
import type { StatsRegistry } from '../../stats/registry.ts';

/** The metric with which the library counts the spans that it has exported or dropped. */
const PROCESSED = 'otel.sdk.processor.span.processed';

/** Present if a span was dropped: because the queue was full, or because the collector did not accept its batch. */
const ERROR_TYPE = 'error.type';

/**
 * Counts the spans of this thread in the statistics: `ratelimit.tracing.spans_exported` and
 * `ratelimit.tracing.spans_dropped`. All other metrics of the library are ignored.
 */
export function spanCounts(stats: StatsRegistry): MeterProvider {
  const exported = stats.counter('ratelimit.tracing.spans_exported');
  const dropped = stats.counter('ratelimit.tracing.spans_dropped');
  const processed: OtelCounter = {
    add: (spans, attributes = {}) => (attributes[ERROR_TYPE] === undefined ? exported : dropped).add(spans),
  };
  const meter: Meter = createNoopMeter();
  const createOther = meter.createCounter.bind(meter);
  meter.createCounter = name => (name === PROCESSED ? processed : createOther(name));
  return { getMeter: () => meter };
}
