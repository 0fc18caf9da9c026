import { HOUR_MS, SECOND_MS } from '../../base/clock.ts';
import type { LogLevel } from '../../base/logger.ts';
import {
  adjusted,
  anyText,
  bool,
  checkedText,
  choice,
  duration,
  file,
  flag,
  float,
  integer,
  oneOf,
  setting,
} from '../kinds/kinds.ts';
import { listenAddress, names, pagePath, tags } from '../kinds/statistics-kinds.ts';

const receiver = checkedText({
  label: 'address or host name',
  accepts: 'an IP address or a host name without a port',
  // One colon is that of a port; addresses of IPv6 have more.
  holds: text => /^[A-Za-z0-9._:%-]{1,253}$/.test(text) && !/^[^:]*:[^:]*$/.test(text),
});

/** A tag that agents and libraries of Datadog read from the environment. */
function globalTag(variable: string, tag: string) {
  return setting({
    names: [variable],
    kind: anyText,
    default: '',
    help: `Value of the tag \`${tag}\` on all DogStatsD statistics. If empty, they do not have the tag.`,
  });
}

/** Statistics and where they are sent (spec 2.7 and 6). */
export const statistics = {
  title: 'Statistics',
  introduction: 'What is counted and where statistics are sent; see docs/statistics.md.',
  settings: {
    // The reference implementation uses a 32-bit float; code that computes a threshold rounds both operands to it.
    nearLimitRatio: setting({
      names: ['NEAR_LIMIT_RATIO'],
      kind: float({ min: 0, max: 1 }),
      default: 0.8,
      help: 'Requests above this fraction of the limit are counted in the `near_limit` statistic.',
    }),
    sanitizeDescriptorMetricDots: flag(
      ['SANITIZE_DESCRIPTOR_METRIC_DOTS'],
      'Replace dots in the keys and values of descriptors with `_` in the names of statistics, so that receivers do ' +
        'not take them for levels. See docs/statistics.md.',
    ),
    disableStats: flag(
      ['DISABLE_STATS'],
      'Disable all statistics sinks. Statistics remain available at `/stats` on the debug port.',
    ),
    statsFlushIntervalMs: setting({
      names: ['STATS_FLUSH_INTERVAL'],
      kind: duration({ min: 1, max: HOUR_MS, strict: 'min' }),
      default: 10 * SECOND_MS,
      help: 'How often statistics are flushed to statsd, DogStatsD or standard output.',
    }),
    extraTags: setting({
      names: ['EXTRA_TAGS'],
      kind: tags,
      default: [],
      help:
        'Tags that are added to all statistics. They are appended to the names in statsd and on standard ' +
        'output (`.__env=prod`), and are tags in DogStatsD and labels in Prometheus.',
    }),
    useStatsd: setting({
      names: ['USE_PUSHSTATS', 'USE_STATSD'],
      kind: bool,
      default: true,
      help:
        'Send statistics to statsd. If this, `USE_AGENTSTATS` and `USE_PULLSTATS` are all `false`, ' +
        'statistics are written to standard output as JSON lines.',
    }),
    statsdHost: setting({
      names: ['PUSHSTATS_HOST', 'STATSD_HOST'],
      kind: receiver,
      default: 'localhost',
      help: 'Host that statsd and DogStatsD statistics are sent to.',
    }),
    statsdPort: setting({
      names: ['PUSHSTATS_PORT', 'STATSD_PORT'],
      kind: integer({ min: 1, max: 65_535, strict: 'both' }),
      default: 8125,
      help: 'Port that statsd and DogStatsD statistics are sent to.',
    }),
    statsdProtocol: setting({
      names: ['PUSHSTATS_PROTOCOL', 'STATSD_PROTOCOL'],
      kind: oneOf('tcp', 'tcp4', 'tcp6', 'udp', 'udp4', 'udp6'),
      default: 'tcp',
      help: 'Network protocol for statsd. DogStatsD always uses UDP.',
    }),
    useDogStatsd: flag(['USE_AGENTSTATS', 'USE_DOG_STATSD'], 'Send statistics to DogStatsD.'),
    dogStatsdMogrifiers: setting({
      names: ['AGENTSTATS_MOGRIFIERS', 'USE_DOG_STATSD_MOGRIFIERS'],
      kind: names,
      default: [],
      help:
        'Names of mogrifiers, which turn the name of a statistic into another name and tags. Each ' +
        '`<NAME>` is configured by three variables, named in upper case: ' +
        '`AGENTSTATS_MOGRIFIER_<NAME>_PATTERN` (or `DOG_STATSD_MOGRIFIER_<NAME>_PATTERN`, and so on) is a ' +
        'regular expression that is searched in the name; `…_NAME` is the new name; `…_TAGS` are tags as ' +
        'in `EXTRA_TAGS`. The new name and the tags may contain `$1` for the first group of the pattern. ' +
        'The first mogrifier that matches applies.',
    }),
    ddEnv: globalTag('DD_ENV', 'env'),
    ddService: globalTag('DD_SERVICE', 'service'),
    ddVersion: globalTag('DD_VERSION', 'version'),
    ddEntityId: globalTag('DD_ENTITY_ID', 'dd.internal.entity_id'),
    usePrometheus: flag(
      ['USE_PULLSTATS', 'USE_PROMETHEUS'],
      'Serve statistics to Prometheus on a separate port.',
    ),
    prometheusAddress: setting({
      names: ['PULLSTATS_ADDR', 'PROMETHEUS_ADDR'],
      kind: listenAddress,
      default: { host: '', port: 9090 },
      help:
        'Address and port of the Prometheus endpoint. Port `0` picks any free port. Each process needs ' +
        'its own port.',
    }),
    prometheusPath: setting({
      names: ['PULLSTATS_PATH', 'PROMETHEUS_PATH'],
      kind: pagePath,
      default: '/metrics',
      help: 'HTTP path of the Prometheus endpoint.',
    }),
    prometheusMapperYaml: file(
      ['PULLSTATS_MAPPER_YAML', 'PROMETHEUS_MAPPER_YAML'],
      'Mapping file in the format of the Prometheus statsd exporter, which maps statistics to metrics ' +
        'and labels. It replaces the built-in mapping, except for task statistics that it does not match. ' +
        'If the file is invalid, Sluice does not start. If it does not exist, Sluice logs a warning and ' +
        'uses the built-in mapping.',
    ),
    prometheusResponseTimeAsMilliseconds: flag(
      ['PULLSTATS_RESPONSE_TIME_AS_MILLISECONDS', 'PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS'],
      'Report the response time to Prometheus in milliseconds instead of seconds, under the same name. ' +
        'Has no effect if a mapping file is set.',
    ),
  },
} as const;

const share = float({ min: Number.NEGATIVE_INFINITY, max: Number.POSITIVE_INFINITY });

/** Spans of decisions (spec 2.7). The `OTEL_EXPORTER_OTLP_…` variables set the destination. */
export const tracing = {
  title: 'Tracing',
  introduction: 'Spans of calls, decisions and tasks, sent to an OpenTelemetry collector.',
  settings: {
    tracingEnabled: flag(
      ['TRACING_ENABLED'],
      'Send spans of calls, decisions, store calls and task deliveries to an OpenTelemetry collector: see ' +
        '[traces](statistics.md#traces). The standard variables ' +
        '`OTEL_EXPORTER_OTLP_…` (endpoint, headers, certificates, timeout), `OTEL_BSP_…` and ' +
        '`OTEL_RESOURCE_ATTRIBUTES` apply.',
    ),
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
      // As in the reference implementation, 1 and more traces every call, and 0 and less traces none.
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

// `sluice settings` shows the first text of a level.
const LEVEL_TEXTS = {
  panic: 'panic',
  fatal: 'fatal',
  error: 'error',
  warn: 'warning',
  warning: 'warning',
  info: 'info',
  debug: 'debug',
  trace: 'trace',
} satisfies Readonly<Record<string, LogLevel>>;

/** Log lines (spec 2.7). */
export const logging = {
  title: 'Logging',
  introduction: 'What Sluice logs, and in which format.',
  settings: {
    logLevel: setting({
      names: ['LOG_LEVEL'],
      kind: choice({ texts: LEVEL_TEXTS, letterCase: 'ignored' }),
      default: 'warning',
      help:
        'Minimum level of messages that are logged. The startup message with the addresses and the store ' +
        'is always logged. `debug` adds the settings, every rejected `/json` request and every failed ' +
        'connection; `trace` adds nothing more. A message that repeats 200 times without a pause is then ' +
        'logged at most once a second, with the field `suppressedLines`.',
    }),
    logFormat: setting({
      names: ['LOG_FORMAT'],
      kind: choice({ texts: { text: 'text', json: 'json', '': 'text' }, letterCase: 'ignored' }),
      default: 'text',
      help:
        'Format of log lines. With `json`, everything on standard error is JSON, including the reasons ' +
        'why Sluice cannot start; the keys are `@message`, `@timestamp`, `level` and those of the fields. ' +
        'An empty value is `text`.',
    }),
  },
} as const;

/** A log of single decisions, for operators who ask which rule refused a user. */
export const decisionLog = {
  title: 'Decision log',
  introduction: 'A log of single decisions; see docs/operations.md.',
  settings: {
    decisionLog: setting({
      names: ['DECISION_LOG'],
      kind: oneOf('off', 'refused', 'sampled'),
      default: 'off',
      help:
        'Decisions to log as JSON lines: none (`off`), each exceeded limit (`refused`, also in shadow mode), ' +
        'or in addition some of the allowed requests (`sampled`).',
    }),
    decisionLogSample: setting({
      names: ['DECISION_LOG_SAMPLE'],
      kind: integer({ min: 1, max: 1_000_000_000, strict: 'both' }),
      default: 1_000,
      help: 'With `DECISION_LOG=sampled`: one in this number of allowed requests is logged.',
    }),
    decisionLogFile: file(
      ['DECISION_LOG_FILE'],
      'File that decisions are appended to. If it does not exist, it is created with mode 0600. If it is ' +
        'renamed or removed, a new file is created within a second of the next record. If empty, decisions ' +
        'are written to standard error.',
    ),
    decisionLogMaxPerSecond: setting({
      names: ['DECISION_LOG_MAX_PER_SECOND'],
      kind: integer({ min: 1, max: 100_000, strict: 'both' }),
      default: 100,
      help:
        'Maximum number of records per second. Further ones are dropped, and counted in the statistic ' +
        '`ratelimit.decision_log.dropped_by_rate` and in the field `dropped` of the next record.',
    }),
    decisionLogHashKeys: flag(
      ['DECISION_LOG_HASH_KEYS'],
      'Replace the values of descriptor entries and the cache key with hashes, so that the log contains no ' +
        'personal data. Equal values have equal hashes.',
    ),
    decisionLogHashSecret: setting({
      names: ['DECISION_LOG_HASH_SECRET'],
      kind: anyText,
      default: '',
      help:
        'Secret key of the hashes. If neither this nor `DECISION_LOG_HASH_SECRET_FILE` is set, the key is ' +
        'random, and the hashes of a value differ between processes and after a restart. Never printed.',
      secret: true,
    }),
    decisionLogHashSecretFile: file(
      ['DECISION_LOG_HASH_SECRET_FILE'],
      'File that contains the secret key of the hashes. It is read at startup.',
    ),
  },
} as const;
