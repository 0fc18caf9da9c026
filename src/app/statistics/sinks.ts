import { open } from 'node:fs/promises';
import { asError, systemCode } from '../../base/fault.ts';
import { readWhole } from '../../base/files/auth-file.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { Logger } from '../../base/logger.ts';
import { Outage, type OutageTexts } from '../../base/outage-log.ts';
import { parseDuration } from '../../settings/kinds/go-numbers.ts';
import type { Settings } from '../../settings/table.ts';
import { dogStatsdLines, jsonLines, type LineFormat, statsdLines } from '../../stats/sinks/line-formats.ts';
import { type LineOutput, StreamOutput } from '../../stats/sinks/line-output.ts';
import { Exposition } from '../../stats/sinks/prometheus/exposition.ts';
import type { Mappings } from '../../stats/sinks/prometheus/mapping.ts';
import { ADDED_MAPPINGS, defaultMappings } from '../../stats/sinks/prometheus/mappings/default-mappings.ts';
import { PushSink } from '../../stats/sinks/push-sink.ts';
import { TcpOutput } from '../../stats/sinks/tcp-output.ts';
import { UdpOutput } from '../../stats/sinks/udp-output.ts';
import { ThreadPauses } from '../../stats/thread-pauses.ts';
import type { PrimaryThread } from '../surroundings.ts';
import { MetricsEndpoint } from './metrics-endpoint.ts';

/** What the sinks use of the primary thread. */
type CountingThread = Omit<PrimaryThread, 'health'>;

/**
 * Creates the statistics of the primary thread itself, and the sinks.
 *
 * @throws Error that names the mapper file and its faults
 */
export async function openStatistics(primary: CountingThread): Promise<Service[]> {
  const { stats, clock } = primary;
  const pauses = new ThreadPauses(stats, 'primary', clock);
  const measuring: Service = {
    name: 'pauses of the primary thread',
    start: async () => pauses.start(),
    stop: async () => pauses.stop(),
  };
  return [measuring, ...(await openSinks(primary))];
}

/**
 * Creates the statistics sinks that the settings enable (spec 6). If no sink is enabled, statistics go to standard
 * output.
 *
 * @throws Error that names the mapper file and its faults
 */
export async function openSinks(primary: CountingThread): Promise<Service[]> {
  const { settings, clock } = primary;
  if (settings.disableStats) return [];
  const sinks: Service[] = [];
  if (settings.useStatsd) sinks.push(statsdSink(primary));
  if (settings.useDogStatsd) sinks.push(dogStatsdSink(primary));
  if (settings.usePrometheus) sinks.push(await prometheusEndpoint(primary));
  if (sinks.length > 0) return sinks;
  const output = new StreamOutput('standard output', process.stdout);
  return [pushSink(primary, { counted: 'stdout', output, format: jsonLines(settings.extraTags, clock) })];
}

function statsdSink(primary: CountingThread): PushSink {
  const { settings } = primary;
  const output = settings.statsdProtocol.startsWith('udp')
    ? udpOutput(primary, 'statsd')
    : tcpOutput(primary);
  return pushSink(primary, { counted: 'statsd', output, format: statsdLines(settings.extraTags) });
}

function dogStatsdSink(primary: CountingThread): PushSink {
  const { extraTags, mogrifiers, ddEntityId, ddEnv, ddService, ddVersion } = primary.settings;
  const format = dogStatsdLines({
    globalTags: [
      ['dd.internal.entity_id', ddEntityId],
      ['env', ddEnv],
      ['service', ddService],
      ['version', ddVersion],
    ],
    tags: extraTags,
    mogrifiers,
  });
  return pushSink(primary, { counted: 'dogstatsd', output: udpOutput(primary, 'DogStatsD'), format });
}

interface Pushing {
  /** The part of the statistic names that identifies the sink. */
  readonly counted: string;
  readonly output: LineOutput;
  readonly format: LineFormat;
}

function pushSink(
  { settings, stats, clock, outages }: CountingThread,
  { counted, output, format }: Pushing,
): PushSink {
  const { useStatsd, statsdHost, statsdPort } = settings.givenBy;
  const isAskedFor =
    counted !== 'statsd' || [useStatsd, statsdHost, statsdPort].some(given => given !== undefined);
  const texts: OutageTexts = {
    // statsd is enabled by default. Users who did not configure it most likely do not have a statsd server.
    level: isAskedFor ? 'warning' : 'info',
    began: 'Statistics cannot be sent; counters are kept for a later flush',
    over: 'Statistics are sent again',
    fields: { receiver: output.name },
  };
  return new PushSink({
    stats,
    format,
    output,
    intervalMs: settings.statsFlushIntervalMs,
    failedFlushes: stats.counter(`ratelimit.stats.${counted}.failed_flushes`),
    lostLines: stats.counter(`ratelimit.stats.${counted}.lost_lines`),
    outage: new Outage(texts, outages, clock),
    clock,
  });
}

function tcpOutput({ settings, clock, random }: CountingThread): TcpOutput {
  const { statsdHost: host, statsdPort: port, statsdProtocol: protocol } = settings;
  return new TcpOutput({
    name: shown('statsd', settings),
    host,
    port,
    family: familyOf(protocol),
    clock,
    random,
  });
}

function udpOutput({ settings }: CountingThread, name: string): UdpOutput {
  const { statsdHost: host, statsdPort: port, statsdProtocol: protocol } = settings;
  return new UdpOutput({ name: shown(name, settings), host, port, family: familyOf(protocol) });
}

/** The IP version of a protocol; 0 for either. */
function familyOf(protocol: Settings['statsdProtocol']): 0 | 4 | 6 {
  if (protocol.endsWith('4')) return 4;
  return protocol.endsWith('6') ? 6 : 0;
}

function shown(name: string, { statsdHost, statsdPort }: Settings): string {
  return `${name} at ${statsdHost.includes(':') ? `[${statsdHost}]` : statsdHost}:${statsdPort}`;
}

async function prometheusEndpoint(primary: CountingThread): Promise<MetricsEndpoint> {
  const { settings, stats, httpEngine, version, clock, logger } = primary;
  const mappings = await readMappings(settings, logger);
  const exposition = new Exposition({ stats, mappings, tags: settings.extraTags, version, clock, logger });
  const { host, port } = settings.prometheusAddress;
  const path = settings.prometheusPath;
  return new MetricsEndpoint({ host, port, path, exposition, engine: httpEngine, clock, logger });
}

/**
 * Reads the mappings. A file that does not exist may be mounted later, so it does not prevent the start. A file with
 * faults does.
 *
 * @throws Error that names the file and its faults
 */
async function readMappings(settings: Settings, logger: Logger): Promise<Mappings> {
  const { prometheusMapperYaml: path, prometheusResponseTimeAsMilliseconds } = settings;
  const builtIn = defaultMappings(prometheusResponseTimeAsMilliseconds ? 'milliseconds' : 'seconds');
  if (path === '') return builtIn;
  try {
    const bytes = await readBounded(path);
    if (bytes.length > MAX_MAPPER_BYTES) throw new Error(`it has more than ${MAX_MAPPER_BYTES} bytes`);
    // The YAML parser is loaded only here, because loading it takes memory and startup time.
    const { parseMapperFile } = await import('../../stats/sinks/prometheus/mapper-file.ts');
    return { ...parseMapperFile(Buffer.from(bytes).toString(), parseDuration), otherwise: ADDED_MAPPINGS };
  } catch (failure) {
    if (systemCode(failure) === 'ENOENT') {
      logger.error('The mapper file does not exist; the built-in mapping is used until a restart', {
        setting: 'PULLSTATS_MAPPER_YAML',
        path,
      });
      return builtIn;
    }
    throw new Error(`PULLSTATS_MAPPER_YAML: cannot use '${path}': ${asError(failure).message}`, {
      cause: failure,
    });
  }
}

/** Maximum size of the mapper file. */
const MAX_MAPPER_BYTES = 4 * 1024 * 1024;

/** Reads at most one byte more than the maximum, which shows that the file is larger. */
async function readBounded(path: string): Promise<Uint8Array> {
  const file = await open(path);
  try {
    return await readWhole(file, MAX_MAPPER_BYTES);
  } finally {
    await file.close();
  }
}
