import type { Logger } from '../../base/logger.ts';
import type { LoadOutcome, RuleFile, RuleSetLoader } from '../../rules/rule-set.ts';

/** A set of files that waits to be loaded. */
interface Pending {
  readonly files: readonly RuleFile[];
  readonly done: (outcome: LoadOutcome) => void;
}

/** The rules, or the overlay. */
interface Half {
  readonly name: 'rules' | 'overlay files';
  pending: Pending | null;
  /** The newest set; null before the first one. */
  newest: readonly RuleFile[] | null;
  /** The set that is active; null before the first one. */
  active: readonly RuleFile[] | null;
}

interface OverlaidLoaderParts {
  /** Loads the rules together with the overlay. */
  readonly loader: RuleSetLoader;
  /** Whether rules have no fault of their own. Nothing is loaded. */
  readonly check: (files: readonly RuleFile[]) => Promise<boolean>;
  readonly logger: Logger;
}

/**
 * Loads rules together with an overlay. Both change independently, at any time, and each combination is loaded as one set,
 * so no request is decided by half of a change.
 *
 * If a combination is refused, the newest set of one half is loaded with the active set of the other one. The source of the
 * rules is told about faults of the rules alone: a controller can neither see nor correct an overlay, and would send the
 * same rules again and again. Rules that it was told are accepted become active when the overlay is corrected.
 */
export class OverlaidLoader {
  readonly #parts: OverlaidLoaderParts;
  readonly #rules: Half = { name: 'rules', pending: null, newest: null, active: null };
  readonly #overlay: Half = { name: 'overlay files', pending: null, newest: null, active: null };
  /** The last rules without a fault of their own, which are not active if the overlay has a fault. */
  #accepted: readonly RuleFile[] | null = null;
  /** Why the overlay could not be read; empty if it could. */
  #unread: readonly string[] = [];
  #loading: Promise<void> | null = null;

  /** Receives the rules of their source. */
  readonly rules: RuleSetLoader = {
    load: files => this.#load(this.#rules, files),
    refuse: reasons => this.#parts.loader.refuse(reasons),
  };

  /** Receives the overlay files. */
  readonly overlay: RuleSetLoader = {
    load: files => {
      this.#unread = [];
      const own = files.filter(({ format }) => format !== 'values');
      return this.#load(
        this.#overlay,
        own.map(file => ({ ...file, format: 'overlay' as const })),
      );
    },
    refuse: reasons => {
      this.#unread = reasons;
      this.#parts.loader.refuse(reasons);
    },
  };

  constructor(parts: OverlaidLoaderParts) {
    this.#parts = parts;
  }

  /** The overlay files that are active, or will be with the first rules. */
  get overlayFiles(): readonly RuleFile[] {
    return this.#overlay.active ?? this.#overlay.newest ?? [];
  }

  /** Whether the newest overlay files are active. */
  get isOverlayActive(): boolean {
    return this.#isActive(this.#overlay);
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
      const rules = take(this.#rules);
      const overlay = take(this.#overlay);
      const outcome = await this.#loadNewest();
      rules?.done(this.#accepted === rules.files ? { kind: 'active' } : outcome);
      overlay?.done(this.#isActive(this.#overlay) ? { kind: 'active' } : outcome);
    }
    // There is no `await` since the last check, so no set is missed.
    this.#loading = null;
  }

  /**
   * Loads the newest combination that has no fault. Rules with a fault of their own are dropped. Returns the outcome of the
   * newest combination.
   */
  async #loadNewest(): Promise<LoadOutcome> {
    const { newest: rules } = this.#rules;
    const { newest: overlay } = this.#overlay;
    // An overlay alone is checked with the first rules.
    if (rules === null) return { kind: 'active' };
    // The overlay is read first, so without a set it could not be read.
    const outcome = overlay === null ? this.#refuseWithoutOverlay() : await this.#try(rules, overlay);
    if (outcome.kind === 'active') this.#accepted = rules;
    if (outcome.kind !== 'refused') return outcome;
    if (rules !== this.#accepted && !(await this.#parts.check(rules))) {
      this.#rules.newest = this.#accepted;
      if (await this.#tryNewest()) this.#warnOfLast(this.#rules);
    } else {
      this.#accepted = rules;
      await this.#tryLastOverlay();
    }
    return outcome;
  }

  /** Loads the newest rules and the newest overlay, unless they are active. Returns whether they have become active. */
  async #tryNewest(): Promise<boolean> {
    const [rules, overlay] = [this.#rules, this.#overlay];
    if (rules.newest === null || overlay.newest === null) return false;
    if (rules.newest === rules.active && overlay.newest === overlay.active) return false;
    return (await this.#try(rules.newest, overlay.newest)).kind === 'active';
  }

  /** Loads the newest rules, which have no fault, with the active overlay. */
  async #tryLastOverlay(): Promise<void> {
    const [rules, overlay] = [this.#rules, this.#overlay];
    if (rules.newest === rules.active) return;
    const isOther = overlay.active !== null && overlay.active !== overlay.newest;
    if (isOther && (await this.#try(rules.newest!, overlay.active!)).kind === 'active')
      this.#warnOfLast(overlay);
    else {
      this.#parts.logger.warning(
        'The newest rules have no fault, but are not active: they become active when the overlay files are corrected',
      );
    }
  }

  async #try(rules: readonly RuleFile[], overlay: readonly RuleFile[]): Promise<LoadOutcome> {
    const outcome = await this.#parts.loader.load([...overlay, ...rules]);
    if (outcome.kind !== 'active') return outcome;
    this.#rules.active = rules;
    this.#overlay.active = overlay;
    return outcome;
  }

  #isActive({ newest, active }: Half): boolean {
    return newest === active && this.#unread.length === 0;
  }

  #warnOfLast(faulty: Half): void {
    const other = faulty === this.#rules ? this.#overlay : this.#rules;
    this.#parts.logger.warning(
      `The newest ${other.name} are active, with the last ${faulty.name} that had no fault: correct the ${faulty.name}`,
    );
  }

  #refuseWithoutOverlay(): LoadOutcome {
    const reasons = this.#unread.map(reason => `the rules are not loaded without their overlay: ${reason}`);
    this.#parts.loader.refuse(reasons);
    return { kind: 'refused', reasons };
  }
}

function take(half: Half): Pending | null {
  const { pending } = half;
  if (pending !== null) half.newest = pending.files;
  half.pending = null;
  return pending;
}
