import type { Clock } from '../../base/clock.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { Logger } from '../../base/logger.ts';
import type { OutageListener } from '../../base/outage-log.ts';
import type { RuleSetLoader } from '../../rules/rule-set.ts';
import { FileRuleSource } from '../../rules/source/file-source.ts';
import type { XdsRuleSourceOptions } from '../../rules/source/xds-source.ts';
import { DEFAULT_MESSAGE_BYTES } from '../../settings/groups/xds.ts';
import { nodeIds, type XdsServer } from '../../settings/kinds/xds-kinds.ts';
import type { Settings } from '../../settings/table.ts';
import type { StatsRegistry } from '../../stats/registry.ts';
import { CertificateExpiry } from '../statistics/certificate-expiry.ts';

interface RuleSourceParts {
  readonly settings: Settings;
  readonly stats: StatsRegistry;
  readonly logger: Logger;
  readonly outages: OutageListener;
  readonly clock: Clock;
  readonly random: () => number;
  readonly loader: RuleSetLoader;
  /** Receives the rule files in place of `loader`, to count how often they are read. */
  readonly fileReads: RuleSetLoader;
}

/** A source of rules: files or xDS servers. */
export interface RuleSource {
  readonly service: Service;
  /** The source itself, if it reads files; else null. */
  readonly files: FileRuleSource | null;
  /** Delay until a warning is logged if there are no rules yet. */
  readonly patienceMs: number;
  /** Advice for the operator if there are no rules. */
  readonly advice: string;
}

/**
 * Creates the rule source selected by the settings. This is the only place that knows all sources and loads their code.
 */
export async function createRuleSource(parts: RuleSourceParts): Promise<RuleSource> {
  if (parts.settings.configType === 'file') {
    // The files have been read when the source has started.
    const files = fileSource(parts);
    return { service: files, files, patienceMs: 0, advice: 'fix the rule files' };
  }
  const addresses = parts.settings.xdsServerUrl.map(({ target }) => target).join(', ');
  return {
    service: await xdsSource(parts),
    files: null,
    patienceMs: 5_000,
    advice: `check that the xDS server at ${addresses} is reachable and sends rules`,
  };
}

function fileSource({ settings, logger, clock, fileReads }: RuleSourceParts): FileRuleSource {
  return new FileRuleSource(
    {
      root: settings.runtimeRoot,
      subdirectory: settings.runtimeSubdirectory,
      appDirectory: settings.runtimeAppDirectory,
      ignoreDotFiles: settings.runtimeIgnoreDotFiles,
      watchRoot: settings.runtimeWatchRoot,
      logger,
      clock,
    },
    fileReads,
  );
}

async function xdsSource(parts: RuleSourceParts): Promise<Service> {
  const { XdsSources } = await import('../../rules/source/xds-sources.ts');
  const { settings, loader } = parts;
  const servers = settings.xdsServerUrl;
  const ids = nodeIds(settings.xdsNodeId, servers.length) ?? [];
  const options = servers.map((server, i) => xdsOptions(parts, server, ids[i]));
  return new XdsSources(options, loader, settings.mergeDomainConfig);
}

function xdsOptions(
  { settings, stats, logger, outages, clock, random }: RuleSourceParts,
  server: XdsServer,
  nodeId: string,
): XdsRuleSourceOptions {
  const expiry = new CertificateExpiry(stats, 'xds_client');
  const tls = {
    caFile: settings.xdsTlsCaCert,
    certFile: settings.xdsTlsClientCert,
    keyFile: settings.xdsTlsClientKey,
    serverName: settings.xdsTlsServerName,
    certificateRead: (chain: string) => expiry.loaded(chain),
  };
  return {
    target: server.target,
    headers: settings.xdsHeaders,
    maxMessageBytes: settings.xdsMaxMessageBytes || DEFAULT_MESSAGE_BYTES,
    tls: (server.tls ?? settings.xdsUseTls) ? tls : null,
    node: { id: nodeId, metadata: settings.xdsNodeMetadata },
    connectRetryMs: settings.xdsConnectRetryMs,
    backoff: {
      initialMs: settings.xdsBackoffInitialMs,
      maxMs: settings.xdsBackoffMaxMs,
      multiplier: waitMultiplier(settings.xdsBackoffFactor),
    },
    logger,
    outages,
    clock,
    random: settings.xdsBackoffJitter ? random : () => 1,
  };
}

/**
 * The multiplier of the retry delay for `XDS_CLIENT_BACKOFF_RANDOM_FACTOR`. envoyproxy/ratelimit multiplies by the
 * setting itself, so its default of 0.5 never lets the delay grow. Here, a factor up to 1 lengthens the delay by that
 * fraction; a factor above 1 is the multiplier, as in envoyproxy/ratelimit.
 */
export function waitMultiplier(factor: number): number {
  if (factor <= 0) return 2;
  return factor > 1 ? factor : 1 + factor;
}
