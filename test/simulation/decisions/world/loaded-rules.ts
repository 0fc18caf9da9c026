import { compileRules } from '../../../../src/rules/compile.ts';
import { CompiledRules } from '../../../../src/rules/compiled-rules.ts';
import { loadRuleSet } from '../../../../src/rules/parse/load.ts';
import type { RuleSet } from '../../../../src/rules/rule-set.ts';
import { type EntryText, ruleFile } from '../../../exam/decisions/rule-file.ts';

/** Rules, as instances use them, and as the checks read them. */
export interface LoadedRules {
  readonly compiled: CompiledRules;
  readonly set: RuleSet;
}

const SETTINGS = { mergeDomains: false };

/** Loads the rules of the domain `d`. */
export function loadedRules(entries: readonly EntryText[]): LoadedRules {
  const set = loadRuleSet([{ name: 'rules.yaml', content: Buffer.from(ruleFile(...entries)) }], SETTINGS);
  return { compiled: new CompiledRules(compileRules(set)), set };
}
