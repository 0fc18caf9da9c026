import { setImmediate as nextTurn } from 'node:timers/promises';
import { asError } from '../../base/fault.ts';
import { RuleGeneration, type RuleStatistics } from '../../decision/statistics/rule-statistics.ts';
import type { CompiledRules } from '../../rules/compiled-rules.ts';
import type { LoadSettings } from '../../rules/parse/load.ts';
import { shortDigest } from '../../rules/rule-digest.ts';
import {
  describeRuleFault,
  type LoadOutcome,
  MAX_REPORTED_FAULTS,
  type RuleFault,
  type RuleFile,
  type RuleSetLoader,
  RuleSetRefused,
} from '../../rules/rule-set.ts';
import type { RuleLoads } from '../../rules/words/rule-loads.ts';
import { loadSettingsOf } from '../decision/engine-settings.ts';
import type { PrimaryThread } from '../surroundings.ts';
import { LoadStatistics } from './load-statistics.ts';
import type { RuleCompiler } from './rule-compiler.ts';

/** The health component that says whether a domain is loaded (spec 3.4). */
const CONFIG_COMPONENT = 'config';

const NO_DOMAIN = 'no domain is loaded';
const NOT_LOADED = 'the latest rules could not be loaded; see the log for the reason';

/** What the loader uses of the primary thread. */
type LoadingThread = Pick<PrimaryThread, 'settings' | 'stats' | 'health' | 'clock' | 'logger'>;

/** A pending rule set, and the callback that receives the outcome. */
interface Load {
  readonly files: readonly RuleFile[];
  readonly done: (outcome: LoadOutcome) => void;
}

/**
 * Loads the rule sets of a rule source. A set is loaded completely or not at all: if it has a fault, the active rules
 * stay active, and the failure is counted and logged. Sets are loaded one at a time. Of the sets that arrive during a
 * load, only the latest is kept.
 */
export class RuleLoader implements RuleSetLoader {
  readonly #primary: LoadingThread;
  readonly #compiler: Pick<RuleCompiler, 'compile'>;
  readonly #statistics: RuleStatistics;
  readonly #loads: RuleLoads;
  #use: (generation: RuleGeneration) => void = () => {};
  readonly #settings: LoadSettings;
  readonly #counted: LoadStatistics;
  #current: RuleGeneration | null = null;
  #digest: string | null = null;
  /** The last warnings in the log. */
  #warned = '';
  #next: Load | null = null;
  #loading: Promise<void> | null = null;
  #announceFirst: () => void = () => {};
  /** Resolves when the first rules are active. */
  readonly firstLoad: Promise<void>;

  /** @param loads records the loads for operators */
  constructor(
    primary: LoadingThread,
    compiler: Pick<RuleCompiler, 'compile'>,
    statistics: RuleStatistics,
    loads: RuleLoads,
  ) {
    this.#primary = primary;
    this.#compiler = compiler;
    this.#statistics = statistics;
    this.#loads = loads;
    this.#settings = loadSettingsOf(primary.settings);
    this.#counted = new LoadStatistics(primary.stats, primary.clock);
    this.firstLoad = new Promise(resolve => {
      this.#announceFirst = resolve;
    });
    this.#tellHealth();
  }

  /** Calls `use` with the rules of each load. Call once, before the first load. */
  publishTo(use: (generation: RuleGeneration) => void): void {
    this.#use = use;
  }

  /** The active rules; null before the first successful load. */
  get current(): CompiledRules | null {
    return this.#current?.rules ?? null;
  }

  /** The digest of the active rules; null before the first successful load. See `ruleDigest`. */
  get digest(): string | null {
    return this.#digest;
  }

  load(files: readonly RuleFile[]): Promise<LoadOutcome> {
    return new Promise(done => {
      this.#next?.done({ kind: 'dropped' });
      this.#next = { files, done };
      this.#loading ??= this.#loadAll();
    });
  }

  refuse(reasons: readonly string[], faults: readonly RuleFault[] = []): void {
    const { logger } = this.#primary;
    this.#counted.failed();
    this.#loads.notLoaded('refused', reasons, faults);
    for (const fault of reasons) logger.error('Fault in the rules', { fault });
    logger.error(`Rules not loaded; ${this.#whatHolds()}`, { faults: reasons.length });
    this.#tellHealth(NOT_LOADED);
  }

  /** Resolves when nothing is being loaded. */
  async settled(): Promise<void> {
    await this.#loading;
  }

  async #loadAll(): Promise<void> {
    for (let load = this.#next; load !== null; load = this.#next) {
      this.#next = null;
      await this.#loadOne(load);
    }
    // There is no `await` between the last check of `#next` and this line, so no set is missed.
    this.#loading = null;
  }

  async #loadOne({ files, done }: Load): Promise<void> {
    try {
      const compiled = await this.#compiler.compile(files, this.#settings);
      if (compiled === null) return done({ kind: 'dropped' });
      const before = this.current;
      this.#publish(compiled.rules, compiled.digest, files);
      this.#logWarnings(compiled.warnings);
      done({ kind: 'active' });
      await this.#carryOverStatistics();
      await this.#loads.loaded(compiled, before);
    } catch (failure) {
      if (failure instanceof RuleSetRefused) {
        const reasons = failure.faults.map(describeRuleFault);
        this.refuse(reasons, failure.faults);
        done({ kind: 'refused', reasons });
      } else done({ kind: 'failed', reasons: [this.#notCompiled(asError(failure))] });
    }
  }

  #publish(rules: CompiledRules, digest: string, files: readonly RuleFile[]): void {
    const generation = new RuleGeneration(rules);
    const replaced = this.#current;
    this.#statistics.publish(generation);
    this.#use(generation);
    this.#current = generation;
    this.#digest = digest;
    if (replaced !== null && !replaced.isIdle) {
      // Its last batches may end, in this or in other threads, after the statistics were carried over.
      replaced.replaced(() => void this.#carryOverStatistics());
    }
    this.#counted.succeeded(digest);
    this.#tellHealth();
    const { domainCount: domains, limitCount: limits } = rules;
    const overlay = files.filter(({ format }) => format === 'overlay').length;
    this.#primary.logger.info('Rules loaded', {
      files: files.length - overlay,
      ...(overlay > 0 && { overlay }),
      domains,
      limits,
      digest: shortDigest(digest),
    });
    this.#announceFirst();
  }

  /** Logs the warnings if they have changed, because rules may be loaded every few seconds. */
  #logWarnings(warnings: readonly RuleFault[]): void {
    const texts = warnings.map(describeRuleFault).join('\n');
    if (texts === this.#warned) return;
    this.#warned = texts;
    const { logger } = this.#primary;
    for (const { file, line, column, path, message } of warnings) {
      logger.warning('Suspicious rule', { file, line, column, rule: path, reason: message });
    }
    if (warnings.length >= MAX_REPORTED_FAULTS) {
      logger.warning('More rules are suspicious; only the first warnings are logged');
    }
  }

  /**
   * Carries statistics over in small steps, so that decisions continue. The previous rules stay in memory until then.
   */
  async #carryOverStatistics(): Promise<void> {
    for (const _pause of this.#statistics.carryOver()) await nextTurn();
  }

  /** Handles a failure of the compiler thread, for example because it ran out of memory. The rules may be valid. */
  #notCompiled(failure: Error): string {
    this.#counted.failed();
    this.#loads.notLoaded('failed', [`the rules could not be compiled: ${failure.message}`]);
    this.#primary.logger.error(`Rules not compiled; ${this.#whatHolds()}`, { reason: failure.message });
    this.#tellHealth(NOT_LOADED);
    return `the rules could not be compiled: ${failure.message}`;
  }

  /** @param note details to show while a domain is loaded */
  #tellHealth(note: string | null = null): void {
    const { health, settings } = this.#primary;
    const isLoaded = this.#current !== null && this.#current.rules.domainCount > 0;
    const shown = isLoaded ? note : NO_DOMAIN;
    if (settings.healthyWithAtLeastOneConfigLoaded) health.set(CONFIG_COMPONENT, isLoaded, shown);
    else health.report(CONFIG_COMPONENT, isLoaded, shown);
  }

  #whatHolds(): string {
    return this.#current === null ? 'no rules are active yet' : 'the previous rules stay active';
  }
}
