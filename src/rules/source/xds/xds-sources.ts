import type { Service } from '../../../base/lifecycle.ts';
import { JoinedRuleSets } from './joined-rule-sets.ts';
import type { RuleSetTaker } from './rule-set-taker.ts';
import { XdsRuleSource, type XdsRuleSourceOptions } from './xds-source.ts';

/**
 * Rules from one xDS server, or from several at once. Each has a stream, versions and retries of its own, so that a
 * server that is unavailable or sends rules with faults changes nothing about the rules of the others.
 */
export class XdsSources implements Service {
  readonly name = 'xDS rules';
  readonly #sources: readonly XdsRuleSource[];

  constructor(servers: readonly XdsRuleSourceOptions[], taker: RuleSetTaker, mergeDomains: boolean) {
    const joined = new JoinedRuleSets(taker, mergeDomains);
    const alone = servers.length === 1;
    this.#sources = servers.map(
      server => new XdsRuleSource(server, joined.addSource(alone ? null : server.target)),
    );
  }

  /** @throws Error naming the setting, when a file for TLS cannot be used; then no source is left running */
  async start(): Promise<void> {
    try {
      await Promise.all(this.#sources.map(source => source.start()));
    } catch (failure) {
      await this.stop();
      throw failure;
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.#sources.map(source => source.stop()));
  }
}
