import type { Clock } from '../base/clock.ts';
import type { Service } from '../base/lifecycle.ts';
import type { Logger } from '../base/logger.ts';
import { FileRuleSource } from '../rules/source/file-source.ts';
import { waitMultiplier } from '../rules/source/xds/growth.ts';
import { XdsRuleSource } from '../rules/source/xds/xds-source.ts';
import type { Settings } from '../settings/table.ts';
import { DEFAULT_MESSAGE_BYTES } from '../settings/xds.ts';
import type { RuleLoader } from './rule-loader.ts';

export interface RuleSourceParts {
  readonly settings: Settings;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly random: () => number;
  readonly loader: RuleLoader;
}

/** Where rules come from. */
export interface RuleSource {
  readonly service: Service;
  /** How long the first rules may be on their way before it is worth a warning. */
  readonly patienceMs: number;
  /** What to do when there are none. */
  readonly advice: string;
}

/** The source that the settings ask for; the only place that knows which ones there are. */
export function createRuleSource(parts: RuleSourceParts): RuleSource {
  if (parts.settings.configType === 'file') {
    // It has been read by the time it has started.
    return { service: fileSource(parts), patienceMs: 0, advice: 'mend the rule files' };
  }
  const { xdsServerUrl } = parts.settings;
  return {
    service: xdsSource(parts),
    patienceMs: 5_000,
    advice: `see to it that the xDS server at ${xdsServerUrl} can be reached and sends some`,
  };
}

function fileSource({ settings, logger, clock, loader }: RuleSourceParts): FileRuleSource {
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
    loader,
  );
}

function xdsSource({ settings, logger, clock, random, loader }: RuleSourceParts): XdsRuleSource {
  const tls = {
    caFile: settings.xdsTlsCaCert,
    certFile: settings.xdsTlsClientCert,
    keyFile: settings.xdsTlsClientKey,
    serverName: settings.xdsTlsServerName,
  };
  return new XdsRuleSource(
    {
      target: settings.xdsServerUrl,
      headers: settings.xdsHeaders,
      maxMessageBytes: settings.xdsMaxMessageBytes || DEFAULT_MESSAGE_BYTES,
      tls: settings.xdsUseTls ? tls : null,
      node: { id: settings.xdsNodeId, metadata: settings.xdsNodeMetadata },
      connectRetryMs: settings.xdsConnectRetryMs,
      backoff: {
        initialMs: settings.xdsBackoffInitialMs,
        maxMs: settings.xdsBackoffMaxMs,
        multiplier: waitMultiplier(settings.xdsBackoffFactor),
      },
      logger,
      clock,
      random: settings.xdsBackoffJitter ? random : () => 1,
    },
    loader,
  );
}
