import type { CompileRequest, CompileResponse } from '../src/app/rules/rule-compiler.ts';
import { runLast } from '../src/base/threads/inside-thread.ts';
import { compileRules } from '../src/rules/compile.ts';
import { loadRuleSet } from '../src/rules/parse/load.ts';
import { ruleDigest } from '../src/rules/rule-digest.ts';
import { type RuleFault, RuleSetRefused } from '../src/rules/rule-set.ts';

runLast();

/** Reads, checks and compiles rules beside the thread that decides, which goes on with the rules it has. */
export default function compile(request: CompileRequest): CompileResponse {
  try {
    const warnings: RuleFault[] = [];
    const rules = loadRuleSet(request.files, {
      ...request.settings,
      onWarning: warning => warnings.push(warning),
    });
    const buffer = compileRules(rules, request.settings);
    return { kind: 'compiled', buffer, digest: ruleDigest(rules), warnings };
  } catch (refused) {
    if (!(refused instanceof RuleSetRefused)) throw refused;
    return { kind: 'refused', faults: refused.faults };
  }
}
