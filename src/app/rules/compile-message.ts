import type { RuleFault, RuleFile } from '../../rules/rule-set.ts';

/** To the compile thread: a whole set of rule files. */
export interface CompileRequest {
  readonly files: readonly RuleFile[];
  readonly mergeDomains: boolean;
}

/** From the compile thread: compiled rules in shared memory and warnings about them, or every fault that was found. */
export type CompileResponse =
  | {
      readonly kind: 'compiled';
      readonly buffer: SharedArrayBuffer;
      readonly warnings: readonly RuleFault[];
    }
  | { readonly kind: 'refused'; readonly faults: readonly RuleFault[] };
