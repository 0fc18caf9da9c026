import type { LoadSettings } from '../../rules/parse/load.ts';
import type { RuleFault, RuleFile } from '../../rules/rule-set.ts';

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
      readonly warnings: readonly RuleFault[];
    }
  | { readonly kind: 'refused'; readonly faults: readonly RuleFault[] };
