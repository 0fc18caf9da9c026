import { HOUR_MS, SECOND_MS } from '../kinds/durations.ts';
import { anyText, bool, checkedText, choice, duration, float, integer, path } from '../kinds/kinds.ts';
import { setting } from '../kinds/setting.ts';
import { listenAddress, names, pagePath, tags } from '../kinds/statistics-kinds.ts';

const receiver = checkedText({
  label: 'address or host name',
  accepts: 'an IP address or a host name without a port',
  holds: text => /^[A-Za-z0-9._:%-]{1,253}$/.test(text),
});

/** A tag that Datadog's agents and libraries take from the environment. */
function globalTag(variable: string, tag: string) {
  return setting({
    names: [variable],
    kind: anyText,
    default: '',
    help: `Value of the tag \`${tag}\` of all statistics that go out as DogStatsD. Empty for none.`,
  });
}

/** What is counted, and where statistics go (spec 2.7 and 6). */
export const statistics = {
  title: 'Statistics',
  settings: {
    // The reference implementation holds this in 32 bits; whoever computes a threshold rounds both operands.
    nearLimitRatio: setting({
      names: ['NEAR_LIMIT_RATIO'],
      kind: float({ min: 0, max: 1 }),
      default: 0.8,
      help: 'Share of a limit above which hits count as near it.',
    }),
    disableStats: setting({
      names: ['DISABLE_STATS'],
      kind: bool,
      default: false,
      help: 'Send statistics nowhere, whatever the settings below say. `/stats` of the debug port shows them.',
    }),
    statsFlushIntervalMs: setting({
      names: ['STATS_FLUSH_INTERVAL'],
      kind: duration({ min: 1, max: HOUR_MS, strict: 'min' }),
      default: 10 * SECOND_MS,
      help: 'Time between two times that statistics are sent.',
    }),
    extraTags: setting({
      names: ['EXTRA_TAGS'],
      kind: tags,
      default: [],
      help:
        'Tags of all statistics. They end the names in statsd and on standard output (`.__env=prod`), and are ' +
        'tags in DogStatsD, labels in Prometheus.',
    }),
    useStatsd: setting({
      names: ['USE_PUSHSTATS', 'USE_STATSD'],
      kind: bool,
      default: true,
      help:
        'Send statistics as statsd lines. Where this and the two below are `false`, they are written to standard ' +
        'output, as JSON lines.',
    }),
    statsdHost: setting({
      names: ['PUSHSTATS_HOST', 'STATSD_HOST'],
      kind: receiver,
      default: 'localhost',
      help: 'Host that statsd and DogStatsD lines are sent to.',
    }),
    statsdPort: setting({
      names: ['PUSHSTATS_PORT', 'STATSD_PORT'],
      kind: integer({ min: 1, max: 65_535, strict: 'both' }),
      default: 8125,
      help: 'Port of that host.',
    }),
    statsdProtocol: setting({
      names: ['PUSHSTATS_PROTOCOL', 'STATSD_PROTOCOL'],
      kind: choice({
        texts: { tcp: 'tcp', tcp4: 'tcp4', tcp6: 'tcp6', udp: 'udp', udp4: 'udp4', udp6: 'udp6' },
        letterCase: 'exact',
      }),
      default: 'tcp',
      help: 'How statsd lines are sent. DogStatsD lines always go over UDP.',
    }),
    useDogStatsd: setting({
      names: ['USE_AGENTSTATS', 'USE_DOG_STATSD'],
      kind: bool,
      default: false,
      help: 'Send statistics as DogStatsD lines.',
    }),
    dogStatsdMogrifiers: setting({
      names: ['AGENTSTATS_MOGRIFIERS', 'USE_DOG_STATSD_MOGRIFIERS'],
      kind: names,
      default: [],
      help:
        'Mogrifiers, which make a name and tags out of the name of a statistic. Each `<NAME>` has three variables, ' +
        'named in upper case: `AGENTSTATS_MOGRIFIER_<NAME>_PATTERN` (or `DOG_STATSD_MOGRIFIER_<NAME>_PATTERN`, ' +
        'and so on), a regular expression that is found anywhere in the name; `…_NAME`, the new name; `…_TAGS`, ' +
        'as `EXTRA_TAGS`. In the latter two `$1` is what the first group matched. The first that is found applies.',
    }),
    ddEnv: globalTag('DD_ENV', 'env'),
    ddService: globalTag('DD_SERVICE', 'service'),
    ddVersion: globalTag('DD_VERSION', 'version'),
    ddEntityId: globalTag('DD_ENTITY_ID', 'dd.internal.entity_id'),
    usePrometheus: setting({
      names: ['USE_PULLSTATS', 'USE_PROMETHEUS'],
      kind: bool,
      default: false,
      help: 'Serve statistics to Prometheus, on a port of its own.',
    }),
    prometheusAddress: setting({
      names: ['PULLSTATS_ADDR', 'PROMETHEUS_ADDR'],
      kind: listenAddress,
      default: { host: '', port: 9090 },
      help: 'Where that port listens. Port `0` takes any free one. Each process needs one of its own.',
    }),
    prometheusPath: setting({
      names: ['PULLSTATS_PATH', 'PROMETHEUS_PATH'],
      kind: pagePath,
      default: '/metrics',
      help: 'Path of the statistics on that port.',
    }),
    prometheusMapperYaml: setting({
      names: ['PULLSTATS_MAPPER_YAML', 'PROMETHEUS_MAPPER_YAML'],
      kind: path,
      default: '',
      help:
        'Mapper file, in the form of the statsd exporter of Prometheus: which statistics become which metrics and ' +
        'labels. It replaces the built-in mapping, except for statistics of tasks that it does not match. A file with ' +
        'faults stops the start. If the file does not exist, that is logged and the built-in mapping is used.',
    }),
    prometheusResponseTimeAsMilliseconds: setting({
      names: ['PULLSTATS_RESPONSE_TIME_AS_MILLISECONDS', 'PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS'],
      kind: bool,
      default: false,
      help:
        'Show the response time in milliseconds instead of seconds. Its name stays. Without effect beside a ' +
        'mapper file.',
    }),
  },
} as const;
