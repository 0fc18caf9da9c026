import { compileRules } from '../../../../src/rules/compile.ts';
import { CompiledRules } from '../../../../src/rules/compiled-rules.ts';
import { type LoadOptions, type LoadSettings, loadRuleSet } from '../../../../src/rules/parse/load.ts';
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

const APART: LoadSettings = { mergeDomains: false };

export function ruleFiles(text: RuleText): RuleFile[] {
  const texts = typeof text === 'string' ? { 'rules.yaml': text } : text;
  return Object.entries(texts).map(([name, content]) => ({ name, content: Buffer.from(content) }));
}

export function load(text: RuleText, settings: LoadOptions = APART): RuleSet {
  return loadRuleSet(ruleFiles(text), settings);
}

/** Loaded and compiled rules. */
export function compiled(text: RuleText, settings = APART): CompiledRules {
  return new CompiledRules(compileRules(load(text, settings), settings));
}

/** Rules of the domain `d` with a limit of one request a day for each key. */
export function rulesOfKeys(keys: readonly string[]): CompiledRules {
  const entries = keys.map(key => `{key: '${key}', rate_limit: {unit: day, requests_per_unit: 1}}`);
  return compiled(`domain: d\ndescriptors: [${entries.join(', ')}]`);
}

/** The same rules as if their source had no lines. */
export function withoutPlaces({ domains }: RuleSet): RuleSet {
  return { domains: domains.map(domain => ({ ...domain, entries: domain.entries.map(entryWithoutPlaces) })) };
}

function entryWithoutPlaces({ place: _, ...entry }: RuleEntry): RuleEntry {
  return { ...entry, entries: entry.entries.map(entryWithoutPlaces) };
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
export function faultsOf(text: RuleText, settings = APART): readonly RuleFault[] {
  try {
    load(text, settings);
    return [];
  } catch (refusal) {
    if (refusal instanceof RuleSetRefused) return refusal.faults;
    throw refusal;
  }
}

/** The same, as lines of text. */
export function refusal(text: RuleText, settings = APART): string {
  return faultsOf(text, settings).map(describeRuleFault).join('\n');
}
