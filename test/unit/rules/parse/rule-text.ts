import { loadRuleSet } from '../../../../src/rules/parse/load.ts';
import {
  describeRuleFault,
  type RuleEntry,
  type RuleFault,
  type RuleFile,
  type RuleSet,
  RuleSetRefused,
} from '../../../../src/rules/rule-set.ts';

/** One text, named `rules.yaml`, or texts by file name. */
export type RuleText = string | Readonly<Record<string, string>>;

export function ruleFiles(text: RuleText): RuleFile[] {
  const texts = typeof text === 'string' ? { 'rules.yaml': text } : text;
  return Object.entries(texts).map(([name, content]) => ({ name, content: Buffer.from(content) }));
}

export function load(text: RuleText, mergeDomains = false): RuleSet {
  return loadRuleSet(ruleFiles(text), { mergeDomains });
}

/** The entry of a file with the domain `d` and this entry alone; lines after the first are indented by four. */
export function loadEntry(lines: string): RuleEntry {
  return load(entryFile(lines)).domains[0].entries[0];
}

/** A file with the domain `d` and one entry: the first line of `lines` is line 3 of the file, from column 5. */
export function entryFile(lines: string): string {
  return `domain: d\ndescriptors:\n  - ${lines.trim().replaceAll('\n', '\n    ')}\n`;
}

/** The faults that files are refused with; none when they are accepted. */
export function faultsOf(text: RuleText, mergeDomains = false): readonly RuleFault[] {
  try {
    load(text, mergeDomains);
    return [];
  } catch (refusal) {
    if (refusal instanceof RuleSetRefused) return refusal.faults;
    throw refusal;
  }
}

/** The same, as lines of text. */
export function refusal(text: RuleText, mergeDomains = false): string {
  return faultsOf(text, mergeDomains).map(describeRuleFault).join('\n');
}
