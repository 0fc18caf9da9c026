import { createHash } from 'node:crypto';
import type { Service } from '../../base/lifecycle.ts';
import type { LoadOutcome, RuleFile, RuleSetLoader } from '../rule-set.ts';
import { XdsRuleSource, type XdsRuleSourceOptions } from './xds-source.ts';

/**
 * Rules from one or more xDS servers. Each server has its own stream, versions and retries, so that a server that is
 * unavailable or sends faulty rules does not affect the rules of the others.
 */
export class XdsSources implements Service {
  readonly name = 'xDS rules';
  readonly #sources: readonly XdsRuleSource[];
  readonly #joined: JoinedRuleSets;

  constructor(servers: readonly XdsRuleSourceOptions[], loader: RuleSetLoader, mergeDomains: boolean) {
    const joined = new JoinedRuleSets(loader, mergeDomains);
    this.#joined = joined;
    const alone = servers.length === 1;
    this.#sources = servers.map(
      server => new XdsRuleSource(server, joined.addSource(alone ? null : server.target)),
    );
  }

  /** The resources of the last accepted response of each server. */
  get resources(): readonly RuleFile[] {
    return this.#joined.accepted;
  }

  /** @throws Error that names the setting if a TLS file cannot be used; no source is left running then */
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

interface Source {
  /** Names the source in messages; null if it is the only source. */
  readonly address: string | null;
  accepted: readonly RuleFile[];
  refusal: Refusal | null;
}

/** The last refused set of a source. */
interface Refusal {
  readonly digest: string;
  /** Number of accepted sets of all sources at that time. */
  readonly after: number;
  readonly outcome: LoadOutcome;
}

/**
 * Joins the rules of several sources into one set. A new set of one source is loaded together with the accepted sets of
 * the others, and accepted or refused for that source alone. A source that has not sent rules yet counts as empty.
 */
class JoinedRuleSets {
  readonly #loader: RuleSetLoader;
  readonly #mergeDomains: boolean;
  readonly #sources: Source[] = [];
  #acceptedSets = 0;
  /** Resolves when the last set is loaded. Sets are loaded one at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(loader: RuleSetLoader, mergeDomains: boolean) {
    this.#loader = loader;
    this.#mergeDomains = mergeDomains;
  }

  /** Adds a source and returns the loader for its sets. The address is null if it is the only source. */
  addSource(address: string | null): RuleSetLoader {
    const source: Source = { address, accepted: [], refusal: null };
    this.#sources.push(source);
    return {
      load: files => {
        const outcome = this.#turn.then(() => this.#load(source, named(files, address)));
        this.#turn = outcome.catch(() => {});
        return outcome;
      },
      refuse: reasons =>
        this.#loader.refuse(address === null ? reasons : reasons.map(reason => `${address}: ${reason}`)),
    };
  }

  get accepted(): readonly RuleFile[] {
    return this.#sources.flatMap(source => source.accepted);
  }

  async #load(source: Source, files: readonly RuleFile[]): Promise<LoadOutcome> {
    const digest = digestOf(files);
    const { refusal } = source;
    // Servers send a refused set again. If nothing has changed, it is not logged or counted a second time.
    if (refusal?.digest === digest && refusal.after === this.#acceptedSets) return refusal.outcome;
    const after = this.#acceptedSets;
    const outcome = await this.#loader.load(this.#joined(source, files));
    source.refusal = outcome.kind === 'refused' ? { digest, after, outcome } : null;
    if (outcome.kind === 'active') {
      source.accepted = files;
      this.#acceptedSets++;
    }
    return outcome;
  }

  #joined(source: Source, files: readonly RuleFile[]): RuleFile[] {
    // The order of the sources decides between wildcards of one domain, so it must not depend on arrival order.
    if (this.#mergeDomains) {
      return this.#sources.flatMap(each => (each === source ? files : each.accepted));
    }
    // A duplicate domain is reported at its second occurrence, which must be in the new set.
    const others = this.#sources.flatMap(each => (each === source ? [] : each.accepted));
    return [...others, ...files];
  }
}

function named(files: readonly RuleFile[], address: string | null): readonly RuleFile[] {
  return address === null ? files : files.map(file => ({ ...file, origin: address }));
}

function digestOf(files: readonly RuleFile[]): string {
  const hash = createHash('sha256');
  for (const { content } of files) hash.update(`${content.byteLength}:`).update(content);
  return hash.digest('base64');
}
