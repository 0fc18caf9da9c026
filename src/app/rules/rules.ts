import type { ServiceStack } from '../../base/lifecycle.ts';
import { RuleRates } from '../../decision/statistics/rule-rates.ts';
import { type RuleGeneration, RuleStatistics } from '../../decision/statistics/rule-statistics.ts';
import type { CompiledRules } from '../../rules/compiled-rules.ts';
import { resourceText } from '../../rules/parse/reading/resource-text.ts';
import { type RuleFile, type RuleSetLoader, RuleSetRefused } from '../../rules/rule-set.ts';
import type { FileRuleSource } from '../../rules/source/file-source.ts';
import { dumpRules } from '../../rules/words/dump.ts';
import { RuleLoads } from '../../rules/words/rule-loads.ts';
import { loadSettingsOf } from '../decision/engine-settings.ts';
import { createRehearsals, type OpenRehearsals } from '../rehearsal/open-rehearsals.ts';
import type { PrimaryThread } from '../surroundings.ts';
import { CountedFileReads } from './load-statistics.ts';
import { OverlaidLoader } from './overlaid-loader.ts';
import { RuleCompiler } from './rule-compiler.ts';
import { RuleLoader } from './rule-loader.ts';
import { createOverlaySource, createRuleSource, type RuleSource } from './rule-source.ts';

/** The rules of the process: where they come from, how they are loaded, what is known about them, and their rehearsal. */
export class Rules {
  readonly statistics = new RuleStatistics();
  readonly rates: RuleRates;
  readonly loads: RuleLoads;
  readonly rehearsals: OpenRehearsals;
  readonly #primary: PrimaryThread;
  readonly #compiler = new RuleCompiler();
  readonly #loader: RuleLoader;
  /** Null without an overlay. */
  readonly #overlaid: OverlaidLoader | null;
  /** Receives what the source of the rules sends. */
  readonly #rulesOfSource: RuleSetLoader;
  readonly #fileReads: CountedFileReads;
  /** The source of the rule files; null before the start, and with xDS. */
  #files: FileRuleSource | null = null;
  #resources: () => readonly RuleFile[] = () => [];

  constructor(primary: PrimaryThread) {
    const { settings, stats, clock, logger } = primary;
    this.#primary = primary;
    stats.addSource(this.statistics);
    this.rates = new RuleRates(this.statistics, clock);
    this.loads = new RuleLoads(clock);
    this.#loader = new RuleLoader(primary, this.#compiler, this.statistics, this.loads);
    const overlaid = { loader: this.#loader, logger };
    this.#overlaid =
      settings.rulesOverlay === ''
        ? null
        : new OverlaidLoader({ ...overlaid, check: files => this.#areSound(files) });
    stats.gauge('ratelimit.service.overlay_is_active', () => Number(this.#overlaid?.isOverlayActive ?? true));
    this.#rulesOfSource = this.#overlaid?.rules ?? this.#loader;
    this.#fileReads = new CountedFileReads(this.#rulesOfSource, stats);
    this.rehearsals = createRehearsals(
      primary,
      this.#compiler,
      () => this.#overlaid?.overlayFiles ?? [],
      () => this.#files,
      () => this.#settled().then(() => this.loads.all[0]),
    );
  }

  /** Calls `use` with the rules of each load, to decide with them from now on. Call once, before the start. */
  publishTo(use: (generation: RuleGeneration) => void): void {
    this.#loader.publishTo(use);
  }

  /** The active rules; null before the first successful load. */
  get current(): CompiledRules | null {
    return this.#loader.current;
  }

  /** The digest of the active rules; null before the first successful load. See `ruleDigest`. */
  get digest(): string | null {
    return this.#loader.digest;
  }

  /** The active rules as lines, for `/rlconfig`. */
  dump(): Iterable<string> {
    return this.current === null ? [] : dumpRules(this.current);
  }

  /** The resources of the xDS servers as YAML, for `/xds-dump`. */
  *dumpResources(): Iterable<string> {
    for (const resource of this.#resources()) yield resourceText(resource);
  }

  /**
   * Starts the compiler and the source, and waits until rules are active, unless the settings say otherwise.
   *
   * @param stopAsked ends the wait
   */
  async start(stack: ServiceStack, stopAsked: Promise<void>): Promise<void> {
    await stack.start(this.#compiler);
    // The overlay first, so that no rules become active without it.
    if (this.#overlaid !== null)
      await stack.start(createOverlaySource(this.#primary, this.#overlaid.overlay));
    const source = await createRuleSource(this.#primary, this.#rulesOfSource, this.#fileReads);
    this.#files = source.files;
    this.#resources = source.resources;
    await stack.start(source.service);
    await this.#settled();
    if (!this.#primary.settings.forceStartWithoutInitialConfig) await this.#firstRules(source, stopAsked);
  }

  /** Whether rules alone have no fault. */
  async #areSound(files: readonly RuleFile[]): Promise<boolean> {
    try {
      await this.#compiler.compile(files, loadSettingsOf(this.#primary.settings));
      return true;
    } catch (failure) {
      return !(failure instanceof RuleSetRefused);
    }
  }

  async #settled(): Promise<void> {
    await this.#overlaid?.settled();
    await this.#loader.settled();
  }

  async #firstRules({ patienceMs, advice }: RuleSource, stopAsked: Promise<void>): Promise<void> {
    if (this.current !== null) return;
    const { clock, logger } = this.#primary;
    const timer = clock.after(patienceMs, () =>
      logger.warning(
        'Ports stay closed until rules are loaded; set FORCE_START_WITHOUT_INITIAL_CONFIG=true to open them without rules',
        { advice },
      ),
    );
    await Promise.race([this.#loader.firstLoad, stopAsked]);
    timer.cancel();
  }
}
