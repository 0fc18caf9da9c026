import { ExportResultCode, getNumberFromEnv } from '@opentelemetry/core';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import { explainTlsFailure, type TlsRemedies } from '../../base/tls/client-tls.ts';
import type { Settings } from '../../settings/table.ts';

/**
 * Opens the exporter for a protocol. The library reads the variables of the OpenTelemetry specification ("OTLP Exporter").
 *
 * @throws Error that names the variable, if the endpoint is invalid
 */
export async function openExporter(protocol: Settings['tracingExporterProtocol']): Promise<SpanExporter> {
  checkEndpoint(protocol);
  if (protocol === 'grpc') {
    const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-grpc');
    return new OTLPTraceExporter();
  }
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-proto');
  return new OTLPTraceExporter();
}

/** Wraps the exporter to call `exported` for each exported batch, because the library reports only failures. */
export function noticingSuccess(exporter: SpanExporter, exported: () => void): SpanExporter {
  return {
    export(spans, done) {
      exporter.export(spans, result => {
        if (result.code === ExportResultCode.SUCCESS) exported();
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}

/** The reason of a failed export, for the log. */
export function reasonOf(failure: unknown): string {
  return explainTlsFailure(failure instanceof Error ? failure.message : String(failure), OTLP_REMEDIES);
}

/** Reads the variables of the OpenTelemetry specification ("Batch Span Processor"). */
export function batchOptions() {
  const read = (name: string) => {
    const number = getNumberFromEnv(name);
    return number !== undefined && number > 0 ? number : undefined;
  };
  const maxQueueSize = read('OTEL_BSP_MAX_QUEUE_SIZE') ?? 2_048;
  const maxExportBatchSize = Math.min(read('OTEL_BSP_MAX_EXPORT_BATCH_SIZE') ?? 512, maxQueueSize);
  const scheduledDelayMillis = read('OTEL_BSP_SCHEDULE_DELAY') ?? 5_000;
  const exportTimeoutMillis = read('OTEL_BSP_EXPORT_TIMEOUT') ?? 30_000;
  return { maxQueueSize, maxExportBatchSize, scheduledDelayMillis, exportTimeoutMillis };
}

/**
 * Checks the endpoint, because for an invalid one the library uses its default or only reports `Invalid URL`.
 *
 * @throws Error that names the variable, but does not quote its value, which may contain a password
 */
function checkEndpoint(protocol: Settings['tracingExporterProtocol']): void {
  const names = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'];
  const name = names.find(each => (process.env[each] ?? '').trim() !== '');
  if (name === undefined) return;
  const text = (process.env[name] as string).trim();
  // For gRPC, the scheme is optional, and other schemes are allowed.
  const url = protocol === 'grpc' && !/^\w+:\/\//.test(text) ? `https://${text}` : text;
  if (URL.canParse(url) && (protocol === 'grpc' || /^https?:\/\//i.test(url))) return;
  const port = protocol === 'grpc' ? 4317 : 4318;
  throw new Error(`${name} is not a valid endpoint; use the form http://collector:${port}`);
}

/** The variables of the OpenTelemetry specification ("OTLP Exporter"). */
const OTLP_REMEDIES: TlsRemedies = {
  ca: 'OTEL_EXPORTER_OTLP_CERTIFICATE',
  clientCertificate: 'OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE',
  plain: 'begin OTEL_EXPORTER_OTLP_ENDPOINT with http://',
};
