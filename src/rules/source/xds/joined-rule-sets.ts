import type { RuleFile } from '../../rule-set.ts';
import type { LoadOutcome, RuleSetTaker } from './rule-set-taker.ts';

/**
 * The rules of several sources as one set. A set of one source is loaded together with the accepted sets of the others,
 * and accepted or refused for that source alone. Sources that have sent nothing yet count as empty.
 */
export class JoinedRuleSets {
  readonly #taker: RuleSetTaker;
  readonly #mergeDomains: boolean;
  /** The accepted set of each source, in the order of the sources. */
  readonly #accepted: (readonly RuleFile[])[] = [];
  /** Ends when the last set that was given is loaded. Each source gives its next one only after that. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(taker: RuleSetTaker, mergeDomains: boolean) {
    this.#taker = taker;
    this.#mergeDomains = mergeDomains;
  }

  /**
   * Takes the sets of one more source.
   *
   * @param address what the source is called in messages
   */
  addSource(address: string): RuleSetTaker {
    const source = this.#accepted.push([]) - 1;
    return {
      load: files => {
        const named = files.map(file => ({ ...file, origin: address }));
        const outcome = this.#turn.then(() => this.#load(source, named));
        this.#turn = outcome.catch(() => {});
        return outcome;
      },
      refuse: reasons => this.#taker.refuse(reasons.map(reason => `${address}: ${reason}`)),
    };
  }

  async #load(source: number, files: readonly RuleFile[]): Promise<LoadOutcome> {
    const outcome = await this.#taker.load(this.#joined(source, files));
    if (outcome.kind === 'in force') this.#accepted[source] = files;
    return outcome;
  }

  #joined(source: number, files: readonly RuleFile[]): RuleFile[] {
    // The order of the sources decides between wildcards of one domain, whichever source has sent its rules first.
    if (this.#mergeDomains) return this.#accepted.with(source, files).flat();
    // A domain that is named twice is reported where it is named for the second time: in the new set.
    return [...this.#accepted.toSpliced(source, 1).flat(), ...files];
  }
}
