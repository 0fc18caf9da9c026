import {
  type Context,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  type TextMapGetter,
  type TextMapPropagator,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { CompositePropagator, setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core';
import { B3Propagator } from '@opentelemetry/propagator-b3';
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
  type SamplingResult,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Service } from '../../base/lifecycle.ts';
import { Outage, OutageLog } from '../../base/outage-log.ts';
import { packageVersion } from '../../base/package.ts';
import { trustCasEverywhere } from '../../base/tls/trusted-cas.ts';
import type { TraceContext } from '../../base/trace-context.ts';
import type { Settings } from '../../settings/table.ts';
import {
  type CallSpan,
  type CallTracing,
  type ChildOptions,
  CurrentSpan,
  type HeaderReader,
  type SpanAttributes,
} from '../../transports/tracing.ts';
import type { Surroundings } from '../surroundings.ts';
import { batchOptions, noticingSuccess, openExporter, reasonOf } from './exporter.ts';
import { spanCounts } from './span-counts.ts';

/** What tracing uses of its thread. Exported and dropped spans are counted in the statistics. */
type TracingThread = Pick<Surroundings, 'stats' | 'clock' | 'logger'>;

/** Name of the only part of a tracing outage. */
const COLLECTOR = 'collector';

/** In the second line, `failedCalls` is the number of failed batches. */
const OUTAGE_TEXTS = {
  level: 'warning',
  began: 'Spans cannot be sent to the collector and are dropped',
  over: 'Spans are sent to the collector again',
  fields: {},
} as const;

/** Longer values of attributes, such as domains and paths of requests, are cut. */
const MAX_VALUE_CHARACTERS = 1_024;

/** Timeout for sending the last spans during a shutdown. */
const FLUSH_MS = 5_000;

/**
 * Tracing with the OpenTelemetry library, which sends spans in batches over OTLP. Loaded only if tracing is enabled
 * (see `serve.ts`), because the library takes memory and startup time.
 */
export class OtlpTracing implements CallTracing, Service {
  readonly name = 'tracing';
  readonly current = new CurrentSpan();
  readonly #provider: TracerProvider;
  readonly #outages: OutageLog;
  readonly #tracer: Tracer;
  readonly #propagator: TextMapPropagator = new CompositePropagator({
    propagators: [new W3CTraceContextPropagator(), new B3Propagator()],
  });

  private constructor(settings: Settings, exporter: SpanExporter, { stats, clock, logger }: TracingThread) {
    this.#outages = new OutageLog({ clock, logger });
    const outage = new Outage(OUTAGE_TEXTS, this.#outages, clock);
    const processor = new BatchSpanProcessor({
      exporter: noticingSuccess(exporter, () => outage.succeeded(COLLECTOR)),
      ...batchOptions(),
      selfObsMeterProvider: spanCounts(stats),
    });
    this.#provider = new TracerProvider({
      resource: resourceOf(settings),
      sampler: new ParentBasedSampler({ root: new RootSampler(settings.tracingSamplingRate) }),
      spanProcessors: [processor],
      spanLimits: { attributeValueLengthLimit: MAX_VALUE_CHARACTERS },
    });
    this.#tracer = this.#provider.getTracer('ratelimit', packageVersion());
    // Replaces the library's error handler, which writes to standard error for every failed batch.
    setGlobalErrorHandler(failure => {
      outage.failed(COLLECTOR, reasonOf(failure));
      outage.callsFailed(1);
    });
  }

  /**
   * Loads the exporter. The result opens tracing in this thread.
   *
   * @throws Error that names the variable, if the endpoint is invalid
   */
  static async load(settings: Settings): Promise<(thread: TracingThread) => OtlpTracing> {
    trustCasEverywhere();
    const exporter = await openExporter(settings.tracingExporterProtocol);
    return thread => new OtlpTracing(settings, exporter, thread);
  }

  async start(): Promise<void> {}

  /** Sends the remaining spans. Spans that cannot be sent within {@link FLUSH_MS} are dropped. */
  async stop(): Promise<void> {
    const bound = Promise.withResolvers<void>();
    const timer = setTimeout(bound.resolve, FLUSH_MS);
    await Promise.race([this.#provider.shutdown().catch(() => {}), bound.promise]);
    clearTimeout(timer);
    this.#outages.stop();
  }

  begin(name: string, attributes: SpanAttributes, header: HeaderReader): CallSpan {
    const parent = this.#propagator.extract(ROOT_CONTEXT, header, HEADERS);
    const span = this.#tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent);
    return new OtlpSpan(this.#tracer, span, parent);
  }

  /** Starts a trace with a span of kind client, which links to the span of another trace. */
  beginLinked(name: string, linked: TraceContext | null): CallSpan {
    const links = linked === null ? [] : [linkToContext(linked)];
    const span = this.#tracer.startSpan(name, { kind: SpanKind.CLIENT, links, root: true });
    return new OtlpSpan(this.#tracer, span, ROOT_CONTEXT);
  }
}

function linkToContext({ traceparent }: TraceContext): Link {
  const [, traceId, spanId, flags] = traceparent.split('-');
  return { context: { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true } };
}

/** Samples the first span of a trace if the span that it links to is sampled, and without a link with the given rate. */
class RootSampler implements Sampler {
  readonly #unlinked: Sampler;

  constructor(rate: number) {
    this.#unlinked = new TraceIdRatioBasedSampler(rate);
  }

  shouldSample(...asked: Parameters<Sampler['shouldSample']>): SamplingResult {
    const [, , , , , [link]] = asked;
    if (link === undefined) return this.#unlinked.shouldSample(...asked);
    const isSampled = (link.context.traceFlags & TraceFlags.SAMPLED) !== 0;
    return {
      decision: isSampled ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD,
    };
  }

  toString(): string {
    return 'RootSampler';
  }
}

class OtlpSpan implements CallSpan {
  readonly #tracer: Tracer;
  readonly #span: Span;
  readonly #parent: Context;

  constructor(tracer: Tracer, span: Span, parent: Context) {
    this.#tracer = tracer;
    this.#span = span;
    this.#parent = parent;
  }

  get recording(): boolean {
    return this.#span.isRecording();
  }

  get spanContext(): SpanContext {
    return this.#span.spanContext();
  }

  get context(): TraceContext {
    const { traceId, spanId, traceFlags, traceState } = this.spanContext;
    const flags = traceFlags.toString(16).padStart(2, '0');
    return {
      traceparent: `00-${traceId}-${spanId}-${flags}`,
      tracestate: traceState?.serialize() ?? '',
    };
  }

  child(name: string, attributes: SpanAttributes, options?: ChildOptions): CallSpan {
    const within = trace.setSpan(this.#parent, this.#span);
    const span = this.#tracer.startSpan(name, { attributes, ...spanOptions(options) }, within);
    return new OtlpSpan(this.#tracer, span, within);
  }

  link(other: CallSpan): void {
    this.#span.addLink(linkTo(other));
  }

  add(attributes: SpanAttributes): void {
    this.#span.setAttributes(attributes);
  }

  end(attributes: SpanAttributes, failure: string, endMs?: number): void {
    this.#span.setAttributes(attributes);
    if (failure !== '') this.#span.setStatus({ code: SpanStatusCode.ERROR, message: failure });
    this.#span.end(endMs);
  }
}

function spanOptions(options: ChildOptions | undefined): SpanOptions {
  if (options === undefined) return {};
  return {
    kind: options.kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL,
    startTime: options.beganMs,
    links: options.links.map(linkTo),
  };
}

function linkTo(span: CallSpan): Link {
  return { context: (span as OtlpSpan).spanContext };
}

/** Reads the headers of a call for the propagators, which look up the header names of their protocols. */
const HEADERS: TextMapGetter<HeaderReader> = {
  keys: () => [],
  get: (header, name) => header(name.toLowerCase()) || undefined,
};

/**
 * The attributes of the library and of this program, of `OTEL_RESOURCE_ATTRIBUTES`, and of the settings. The later ones take
 * precedence.
 */
function resourceOf(settings: Settings): Resource {
  const { tracingServiceName, tracingServiceNamespace, tracingServiceInstanceId } = settings;
  const own = resourceFromAttributes({
    'service.name': tracingServiceName,
    'service.instance.id': tracingServiceInstanceId,
    ...(tracingServiceNamespace === '' ? {} : { 'service.namespace': tracingServiceNamespace }),
  });
  return defaultResource()
    .merge(resourceFromAttributes({ 'service.version': packageVersion() }))
    .merge(detectResources({ detectors: [envDetector] }))
    .merge(own);
}
