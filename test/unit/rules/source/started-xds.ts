import type { Test } from 'tap';
import { OutageLog } from '../../../../src/base/outage-log.ts';
import type { LoadOutcome, RuleFile, RuleSetLoader } from '../../../../src/rules/rule-set.ts';
import { XdsRuleSource, type XdsRuleSourceOptions } from '../../../../src/rules/source/xds-source.ts';
import { AdsServer } from '../../../support/ads-server.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { WaitClock } from '../../../support/wait-clock.ts';

/** Takes every set, unless told how to answer. */
export class KeepingLoader implements RuleSetLoader {
  readonly sets: (readonly RuleFile[])[] = [];
  readonly refusals: (readonly string[])[] = [];
  answer: () => LoadOutcome | Promise<LoadOutcome> = () => ({ kind: 'active' });

  async load(files: readonly RuleFile[]): Promise<LoadOutcome> {
    this.sets.push(files);
    return this.answer();
  }

  refuse(reasons: readonly string[]): void {
    this.refusals.push(reasons);
  }
}

export interface StartedXds {
  readonly source: XdsRuleSource;
  readonly loader: KeepingLoader;
  readonly logger: KeepingLogger;
  readonly clock: WaitClock;
}

/** Options of a source that asks at `target`. */
export function xdsOptions(
  target: string,
  clock: WaitClock,
  logger = new KeepingLogger(),
): XdsRuleSourceOptions {
  return {
    target,
    headers: [],
    maxMessageBytes: 4_194_304,
    tls: null,
    node: { id: 'default', metadata: {} },
    connectRetryMs: 3_000,
    backoff: { initialMs: 10_000, maxMs: 60_000, multiplier: 1.5 },
    logger,
    outages: new OutageLog({ clock, logger }),
    clock,
    random: () => 1,
  };
}

/** A source that asks at `target`, on a clock of its own; it ends with the test. */
export async function startXds(
  t: Test,
  target: string,
  options: Partial<XdsRuleSourceOptions> = {},
): Promise<StartedXds> {
  const loader = new KeepingLoader();
  const logger = new KeepingLogger();
  const clock = new WaitClock(1_700_000_000_000);
  const source = new XdsRuleSource({ ...xdsOptions(target, clock, logger), ...options }, loader);
  t.teardown(() => source.stop());
  await source.start();
  return { source, loader, logger, clock };
}

/** A server and a source that asks it. */
export async function startXdsPair(
  t: Test,
  options: Partial<XdsRuleSourceOptions> = {},
): Promise<StartedXds & { readonly ads: AdsServer }> {
  const ads = await AdsServer.start(t);
  return { ads, ...(await startXds(t, ads.address, options)) };
}
