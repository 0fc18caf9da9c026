import { createHash } from 'node:crypto';
import type { Service } from '../../base/lifecycle.ts';
import type { RuleFile } from '../rule-set.ts';
import type { LoadOutcome, RuleSetLoader } from './rule-set-loader.ts';
import { XdsRuleSource, type XdsRuleSourceOptions } from './xds-source.ts';

/**
 * Rules from one xDS server, or from several at once. Each has a stream, versions and retries of its own, so that a
 * server that is unavailable or sends rules with faults changes nothing about the rules of the others.
 */
export class XdsSources implements Service {
  readonly name = 'xDS rules';
  readonly #sources: readonly XdsRuleSource[];

  constructor(servers: readonly XdsRuleSourceOptions[], loader: RuleSetLoader, mergeDomains: boolean) {
    const joined = new JoinedRuleSets(loader, mergeDomains);
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

interface Source {
  /** Names the source in messages; null when there is no other. */
  readonly address: string | null;
  accepted: readonly RuleFile[];
  refusal: Refusal | null;
}

/** The set of a source that was refused last. */
interface Refusal {
  readonly digest: string;
  /** How many sets had been accepted by then. */
  readonly after: number;
  readonly outcome: LoadOutcome;
}

/**
 * The rules of one source or several as one set. A set of one source is loaded together with the accepted sets of the
 * others, and accepted or refused for that source alone. Sources that have sent nothing yet count as empty.
 */
class JoinedRuleSets {
  readonly #loader: RuleSetLoader;
  readonly #mergeDomains: boolean;
  readonly #sources: Source[] = [];
  #acceptedSets = 0;
  /** Ends when the last set that was given is loaded. Each source gives its next one only after that. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(loader: RuleSetLoader, mergeDomains: boolean) {
    this.#loader = loader;
    this.#mergeDomains = mergeDomains;
  }

  /** Takes the sets of one more source; without an address it is the only one. */
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

  async #load(source: Source, files: readonly RuleFile[]): Promise<LoadOutcome> {
    const digest = digestOf(files);
    const { refusal } = source;
    // Servers send a refused set again. Nothing has changed, so it is neither logged nor counted for a second time.
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
    // The order of the sources decides between wildcards of one domain, whichever source has sent its rules first.
    if (this.#mergeDomains) {
      return this.#sources.flatMap(each => (each === source ? files : each.accepted));
    }
    // A domain that is named twice is reported where it is named for the second time: in the new set.
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
