import { resolve } from 'node:path';
import type { Service } from '../../base/lifecycle.ts';
import type { RuleFile, RuleSetLoader } from '../../rules/rule-set.ts';
import { FileRuleSource } from '../../rules/source/file-source.ts';
import type { XdsRuleSourceOptions } from '../../rules/source/xds-source.ts';
import type { XdsSources } from '../../rules/source/xds-sources.ts';
import { DEFAULT_MESSAGE_BYTES } from '../../settings/groups/xds.ts';
import { nodeIds, type XdsServer } from '../../settings/kinds/xds-kinds.ts';
import { CertificateExpiry } from '../statistics/certificate-expiry.ts';
import type { PrimaryThread, Surroundings } from '../surroundings.ts';

/** A source of rules: files or xDS servers. */
export interface RuleSource {
  readonly service: Service;
  /** The source itself, if it reads files; else null. */
  readonly files: FileRuleSource | null;
  /** Returns the resources of the xDS servers; none if the source reads files. */
  readonly resources: () => readonly RuleFile[];
  /** Delay until a warning is logged if there are no rules yet. */
  readonly patienceMs: number;
  /** Advice for the operator if there are no rules. */
  readonly advice: string;
}

/** What a source uses of the primary thread. */
type LoadingThread = Surroundings & Pick<PrimaryThread, 'outages'>;

/**
 * Creates the rule source selected by the settings. This is the only place that knows all sources and loads their code.
 *
 * @param fileReads receives rule files in place of `loader`, to count how often they are read
 */
export async function createRuleSource(
  primary: LoadingThread,
  loader: RuleSetLoader,
  fileReads: RuleSetLoader,
): Promise<RuleSource> {
  const { settings } = primary;
  if (settings.configType === 'file') {
    // The files have been read when the source has started.
    const files = fileSource(primary, fileReads);
    return { service: files, files, resources: () => [], patienceMs: 0, advice: 'fix the rule files' };
  }
  const addresses = settings.xdsServerUrl.map(({ target }) => target).join(', ');
  const service = await xdsSource(primary, loader);
  return {
    service,
    files: null,
    resources: () => service.resources,
    patienceMs: 5_000,
    advice: `check that the xDS server at ${addresses} is reachable and sends rules`,
  };
}

/** The source of the overlay files. */
export function createOverlaySource(
  { settings, logger, clock }: Pick<LoadingThread, 'settings' | 'logger' | 'clock'>,
  loader: RuleSetLoader,
): FileRuleSource {
  const { rulesOverlay, runtimeIgnoreDotFiles: ignoreDotFiles } = settings;
  const directory = { root: resolve(rulesOverlay), subdirectory: '', appDirectory: '', ignoreDotFiles };
  return new FileRuleSource(
    { ...directory, watchRoot: false, setting: 'RULES_OVERLAY', logger, clock },
    loader,
  );
}

function fileSource({ settings, logger, clock }: LoadingThread, fileReads: RuleSetLoader): FileRuleSource {
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

async function xdsSource(primary: LoadingThread, loader: RuleSetLoader): Promise<XdsSources> {
  const { XdsSources } = await import('../../rules/source/xds-sources.ts');
  const { settings } = primary;
  const servers = settings.xdsServerUrl;
  const ids = nodeIds(settings.xdsNodeId, servers.length) ?? [];
  const options = servers.map((server, i) => xdsOptions(primary, server, ids[i]));
  return new XdsSources(options, loader, settings.mergeDomainConfig);
}

function xdsOptions(
  { settings, stats, logger, outages, clock, random }: LoadingThread,
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
