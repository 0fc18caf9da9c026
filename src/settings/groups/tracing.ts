import { adjusted, anyText, bool, choice, float } from '../kinds/kinds.ts';
import { setting } from '../kinds/setting.ts';

const share = float({ min: Number.NEGATIVE_INFINITY, max: Number.POSITIVE_INFINITY });

/** Spans of decisions, and where they go (spec 2.7). The destination is said by the `OTEL_EXPORTER_OTLP_…` variables. */
export const tracing = {
  title: 'Tracing',
  settings: {
    tracingEnabled: setting({
      names: ['TRACING_ENABLED'],
      kind: bool,
      default: false,
      help:
        'Send a span for each decision to an OpenTelemetry collector. The standard variables `OTEL_EXPORTER_OTLP_…` ' +
        '(endpoint, headers, certificates, timeout), `OTEL_BSP_…` and `OTEL_RESOURCE_ATTRIBUTES` apply.',
    }),
    tracingExporterProtocol: setting({
      names: ['TRACING_EXPORTER_PROTOCOL'],
      kind: choice({ texts: { http: 'http', grpc: 'grpc', '': 'http' }, letterCase: 'exact' }),
      default: 'http',
      help: 'How spans are sent: OTLP as protobuf over HTTP, or over gRPC. Empty is `http`.',
    }),
    tracingServiceName: setting({
      names: ['TRACING_SERVICE_NAME'],
      kind: anyText,
      default: 'RateLimit',
      help: 'Attribute `service.name` of the resource.',
    }),
    tracingServiceNamespace: setting({
      names: ['TRACING_SERVICE_NAMESPACE'],
      kind: anyText,
      default: '',
      help: 'Attribute `service.namespace` of the resource.',
    }),
    tracingServiceInstanceId: setting({
      names: ['TRACING_SERVICE_INSTANCE_ID'],
      kind: anyText,
      default: '',
      help: 'Attribute `service.instance.id` of the resource. Empty: a random UUID.',
    }),
    tracingSamplingRate: setting({
      names: ['TRACING_SAMPLING_RATE'],
      // As in the reference implementation: 1 and more is always, 0 and less is never.
      kind: adjusted({ ...share, label: 'number', accepts: 'a number; 0 is never, 1 is always' }, rate =>
        Math.min(Math.max(rate, 0), 1),
      ),
      default: 1,
      help:
        'Share of the calls that are traced, from 0 to 1; less is 0, more is 1. A caller that says whether its own ' +
        'trace is sampled decides first.',
    }),
  },
} as const;
