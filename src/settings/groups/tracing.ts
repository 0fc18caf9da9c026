import { adjusted, anyText, bool, choice, float } from '../kinds/kinds.ts';
import { setting } from '../kinds/setting.ts';

const share = float({ min: Number.NEGATIVE_INFINITY, max: Number.POSITIVE_INFINITY });

/** Spans of decisions, and where they go (spec 2.7). The destination is said by the `OTEL_EXPORTER_OTLP_…` variables. */
export const tracing = {
  title: 'Tracing',
  introduction: 'Spans of decisions, sent to an OpenTelemetry collector.',
  settings: {
    tracingEnabled: setting({
      names: ['TRACING_ENABLED'],
      kind: bool,
      default: false,
      help:
        'Send a span for each decision to an OpenTelemetry collector. The standard variables ' +
        '`OTEL_EXPORTER_OTLP_…` (endpoint, headers, certificates, timeout), `OTEL_BSP_…` and ' +
        '`OTEL_RESOURCE_ATTRIBUTES` apply.',
    }),
    tracingExporterProtocol: setting({
      names: ['TRACING_EXPORTER_PROTOCOL'],
      kind: choice({ texts: { http: 'http', grpc: 'grpc', '': 'http' }, letterCase: 'exact' }),
      default: 'http',
      help:
        'Protocol for sending spans: OTLP over HTTP with protobuf (`http`), or over gRPC (`grpc`). An ' +
        'empty value is `http`.',
    }),
    tracingServiceName: setting({
      names: ['TRACING_SERVICE_NAME'],
      kind: anyText,
      default: 'RateLimit',
      help: 'Value of the resource attribute `service.name`.',
    }),
    tracingServiceNamespace: setting({
      names: ['TRACING_SERVICE_NAMESPACE'],
      kind: anyText,
      default: '',
      help: 'Value of the resource attribute `service.namespace`.',
    }),
    tracingServiceInstanceId: setting({
      names: ['TRACING_SERVICE_INSTANCE_ID'],
      kind: anyText,
      default: '',
      help: 'Value of the resource attribute `service.instance.id`. If empty, a random UUID is used.',
    }),
    tracingSamplingRate: setting({
      names: ['TRACING_SAMPLING_RATE'],
      // As in the reference implementation: 1 and more is always, 0 and less is never.
      kind: adjusted({ ...share, label: 'number', accepts: 'a number; 0 is never, 1 is always' }, rate =>
        Math.min(Math.max(rate, 0), 1),
      ),
      default: 1,
      help:
        'Fraction of calls that are traced, from 0 to 1. Values below 0 are read as 0 and values above 1 ' +
        'as 1. If the caller sends a trace, its sampling decision takes precedence.',
    }),
  },
} as const;
