import { Piscina } from 'piscina';
import type { Service } from '../../base/lifecycle.ts';
import { requireSameBuild, workerModule } from '../../base/threads/same-build.ts';
import { CompiledRules } from '../../rules/compiled-rules.ts';
import type { LoadSettings } from '../../rules/parse/load.ts';
import { type RuleFault, type RuleFile, RuleSetRefused } from '../../rules/rule-set.ts';

/** Message to the compiler thread: a complete set of rule files. */
export interface CompileRequest {
  readonly files: readonly RuleFile[];
  readonly settings: LoadSettings;
}

/** Message from the compiler thread: the compiled rules in shared memory with warnings, or all faults of the rules. */
export type CompileResponse =
  | {
      readonly kind: 'compiled';
      readonly buffer: SharedArrayBuffer;
      /** See `ruleDigest`. */
      readonly digest: string;
      readonly warnings: readonly RuleFault[];
    }
  | { readonly kind: 'refused'; readonly faults: readonly RuleFault[] };

/**
 * The compiler thread shuts down after being idle for this long, which frees about 30 MB. The next load starts a new
 * thread, which takes less than a tenth of a second.
 */
const IDLE_MS = 1_000;

/** Compiled rules, their digest (see `ruleDigest`), and warnings about them. */
interface CompileResult {
  readonly rules: CompiledRules;
  readonly digest: string;
  readonly warnings: readonly RuleFault[];
}

/** Compiles rules in a thread of its own, so that loading many rules does not delay decisions. */
export class RuleCompiler implements Service {
  readonly name = 'rule compiler';
  #pool: Piscina<CompileRequest, CompileResponse> | null = null;

  async start(): Promise<void> {
    this.#pool = new Piscina({
      filename: workerModule('compile').href,
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: IDLE_MS,
    });
  }

  async stop(): Promise<void> {
    const pool = this.#pool;
    this.#pool = null;
    await pool?.destroy();
  }

  /**
   * Compiles rules. Returns null if the compiler was stopped.
   *
   * @throws RuleSetRefused with all faults of the rules; Error if the thread failed, or the files of Sluice were replaced
   */
  async compile(files: readonly RuleFile[], settings: LoadSettings): Promise<CompileResult | null> {
    const pool = this.#pool;
    if (pool === null) return null;
    requireSameBuild();
    // Destroying the pool makes its running tasks fail.
    const response = await pool.run({ files, settings }).catch((failure: unknown) => {
      if (this.#pool === pool) throw failure;
      return null;
    });
    if (response === null || this.#pool !== pool) return null;
    if (response.kind === 'refused') throw new RuleSetRefused(response.faults);
    const { buffer, digest, warnings } = response;
    return { rules: new CompiledRules(buffer), digest, warnings };
  }
}
