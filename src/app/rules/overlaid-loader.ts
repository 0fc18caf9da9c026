import type { Logger } from '../../base/logger.ts';
import type { LoadOutcome, RuleFile, RuleSetLoader } from '../../rules/rule-set.ts';

/** A set of files that waits to be loaded. */
interface Pending {
  readonly files: readonly RuleFile[];
  readonly done: (outcome: LoadOutcome) => void;
}

/** The rules, or the overlay. */
interface Half {
  readonly noun: 'rules' | 'overlay files';
  pending: Pending | null;
  /** The newest set; null before the first one. */
  newest: readonly RuleFile[] | null;
  /** The last set that became active; null before the first one. */
  good: readonly RuleFile[] | null;
}

/**
 * Loads rules together with an overlay. Both change independently, at any time, and each combination is loaded as one set,
 * so no request is decided by half of a change. If a combination is refused, the newest set of one half is loaded with the
 * last good set of the other one, so that a fault in one of them does not hold up the other.
 */
export class OverlaidLoader {
  readonly #loader: RuleSetLoader;
  readonly #logger: Logger;
  readonly #rules: Half = { noun: 'rules', pending: null, newest: null, good: null };
  readonly #overlay: Half = { noun: 'overlay files', pending: null, newest: null, good: null };
  /** Why the overlay could not be read; empty if it could. */
  #unread: readonly string[] = [];
  #loading: Promise<void> | null = null;

  /** Receives the rules of their source. */
  readonly rules: RuleSetLoader = {
    load: files => this.#load(this.#rules, files),
    refuse: reasons => this.#loader.refuse(reasons),
  };

  /** Receives the overlay files. */
  readonly overlay: RuleSetLoader = {
    load: files => {
      this.#unread = [];
      return this.#load(
        this.#overlay,
        files.map(file => ({ ...file, format: 'overlay' as const })),
      );
    },
    refuse: reasons => {
      this.#unread = reasons;
      this.#loader.refuse(reasons);
    },
  };

  constructor(loader: RuleSetLoader, logger: Logger) {
    this.#loader = loader;
    this.#logger = logger;
  }

  /** The overlay files that are in force. */
  get overlayFiles(): readonly RuleFile[] {
    return this.#overlay.good ?? this.#overlay.newest ?? [];
  }

  /** Resolves when nothing is being loaded. */
  async settled(): Promise<void> {
    await this.#loading;
  }

  #load(half: Half, files: readonly RuleFile[]): Promise<LoadOutcome> {
    return new Promise(done => {
      half.pending?.done({ kind: 'dropped' });
      half.pending = { files, done };
      this.#loading ??= this.#loadAll();
    });
  }

  async #loadAll(): Promise<void> {
    while (this.#rules.pending !== null || this.#overlay.pending !== null) {
      const taken = [take(this.#rules), take(this.#overlay)];
      const outcome = await this.#loadNewest();
      for (const [i, half] of [this.#rules, this.#overlay].entries())
        taken[i]?.done(half.good === half.newest ? { kind: 'active' } : outcome);
    }
    // There is no `await` since the last check, so no set is missed.
    this.#loading = null;
  }

  /** Loads the newest combination that has no fault. Returns the outcome of the newest one. */
  async #loadNewest(): Promise<LoadOutcome> {
    const [rules, overlay] = [this.#rules, this.#overlay];
    // The overlay is read first, so without a set it could not be read.
    if (overlay.newest === null) return this.#withoutOverlay();
    // An overlay alone is checked with the first rules.
    if (rules.newest === null) return { kind: 'active' };
    const newest = await this.#try(rules.newest, overlay.newest);
    if (newest.kind !== 'refused') return newest;
    if (await this.#tryOther(rules.newest, overlay.good)) this.#tell(rules, overlay);
    else if (await this.#tryOther(rules.good, overlay.newest)) this.#tell(overlay, rules);
    return newest;
  }

  /** Loads a combination unless it is active or was refused just now. Returns whether it has become active. */
  async #tryOther(rules: Half['good'], overlay: Half['good']): Promise<boolean> {
    if (rules === null || overlay === null) return false;
    const isActive = rules === this.#rules.good && overlay === this.#overlay.good;
    const isNewest = rules === this.#rules.newest && overlay === this.#overlay.newest;
    if (isActive || isNewest) return false;
    return (await this.#try(rules, overlay)).kind === 'active';
  }

  #tell(newest: Half, faulty: Half): void {
    const message = `The newest ${newest.noun} are active, with the last ${faulty.noun} that had no fault: correct the ${faulty.noun}`;
    this.#logger.warning(message);
  }

  async #try(rules: readonly RuleFile[], overlay: readonly RuleFile[]): Promise<LoadOutcome> {
    const outcome = await this.#loader.load([...overlay, ...rules]);
    if (outcome.kind !== 'active') return outcome;
    this.#rules.good = rules;
    this.#overlay.good = overlay;
    return outcome;
  }

  #withoutOverlay(): LoadOutcome {
    if (this.#rules.newest === null) return { kind: 'dropped' };
    const reasons = this.#unread.map(reason => `the rules are not loaded without their overlay: ${reason}`);
    this.#loader.refuse(reasons);
    return { kind: 'refused', reasons };
  }
}

function take(half: Half): Pending | null {
  const { pending } = half;
  if (pending !== null) half.newest = pending.files;
  half.pending = null;
  return pending;
}
