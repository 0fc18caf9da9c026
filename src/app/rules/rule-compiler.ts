import { Piscina } from 'piscina';
import type { Service } from '../../base/lifecycle.ts';
import { CompiledRules } from '../../rules/compiled-rules.ts';
import { type RuleFault, type RuleFile, RuleSetRefused } from '../../rules/rule-set.ts';
import type { CompileRequest, CompileResponse } from './compile-message.ts';

/**
 * The compiler thread shuts down after being idle for this long, which frees about 30 MB. The next load starts a new
 * thread, which takes less than a tenth of a second.
 */
const IDLE_MS = 1_000;

/** Rules, and which of their places may not do what was meant. */
interface CompileResult {
  readonly rules: CompiledRules;
  readonly warnings: readonly RuleFault[];
}

/** Compiles rules in a thread of its own, so that loading many of them holds up no decision. */
export class RuleCompiler implements Service {
  readonly name = 'rule compiler';
  #pool: Piscina<CompileRequest, CompileResponse> | null = null;

  async start(): Promise<void> {
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    this.#pool = new Piscina({
      filename: new URL(`../../../workers/compile.${extension}`, import.meta.url).href,
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
   * The compiled rules; null when the compiler is stopped by then, and nobody waits for them.
   * @throws RuleSetRefused with every fault of the rules; Error when the thread failed, which is no fault of the rules
   */
  async compile(files: readonly RuleFile[], mergeDomains: boolean): Promise<CompileResult | null> {
    const pool = this.#pool;
    if (pool === null) return null;
    // Destroying the pool fails what runs in it.
    const response = await pool.run({ files, mergeDomains }).catch((failure: unknown) => {
      if (this.#pool === pool) throw failure;
      return null;
    });
    if (response === null || this.#pool !== pool) return null;
    if (response.kind === 'refused') throw new RuleSetRefused(response.faults);
    return { rules: new CompiledRules(response.buffer), warnings: response.warnings };
  }
}
