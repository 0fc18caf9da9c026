import { printable } from '../../base/printable.ts';
import {
  type DomainRules,
  describeRuleFault,
  MAX_REPORTED_FAULTS,
  type RuleEntry,
  type RuleFault,
  type RuleSet,
} from '../../rules/rule-set.ts';

/** What a check found. */
export interface CheckResult {
  /** Names of the files that were read. */
  readonly files: readonly string[];
  /** Names of entries of the directory that are no rule files. */
  readonly ignored: readonly string[];
  /** Places that may not do what was meant; the service logs them when it loads the files. */
  readonly warnings: readonly RuleFault[];
  readonly outcome: LoadOutcome;
}

/** The rules, or why the service would refuse them. */
export type LoadOutcome = { readonly ruleSet: RuleSet } | { readonly faults: readonly RuleFault[] };

/** The result for people: every warning and fault on a line of its own and their count, or what would be loaded. */
export function checkText(directory: string, result: CheckResult): string {
  const { files, ignored, warnings, outcome } = result;
  const lines = warnings.map(warning =>
    describeRuleFault({ ...warning, message: `warning: ${warning.message}` }),
  );
  if ('faults' in outcome) lines.push(...faultLines(outcome.faults));
  else lines.push(summary(files, outcome.ruleSet, warnings.length));
  if (files.length === 0)
    lines.push(`no *.yaml or *.yml file in ${directory}: every request would be allowed`);
  if (ignored.length > 0) lines.push(`not read, as not *.yaml or *.yml: ${ignored.join(', ')}`);
  return lines.map(line => `${printable(line)}\n`).join('');
}

function faultLines(faults: readonly RuleFault[]): string[] {
  // The list is cut at its bound, so that many may stand for more.
  const more = faults.length >= MAX_REPORTED_FAULTS ? ' or more' : '';
  const noun = faults.length === 1 ? 'fault' : 'faults';
  return [
    ...faults.map(describeRuleFault),
    `${faults.length}${more} ${noun}: the service would not load these files`,
  ];
}

function summary(files: readonly string[], { domains }: RuleSet, warnings: number): string {
  const rules = domains.reduce((total, domain) => total + countRules(domain), 0);
  const more = warnings >= MAX_REPORTED_FAULTS ? ' or more' : '';
  const warned = warnings === 0 ? '' : `, ${warnings}${more} ${warnings === 1 ? 'warning' : 'warnings'}`;
  return `no faults${warned}: ${counted(files.length, 'file')}, ${counted(domains.length, 'domain')}, ${counted(rules, 'rule')}`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** The result as one line of JSON: `faults` where there are some, else `domains`. */
export function checkJson(result: CheckResult): string {
  const { files, ignored, warnings, outcome } = result;
  if ('faults' in outcome)
    return `${JSON.stringify({ ok: false, files, ignored, warnings, faults: outcome.faults })}\n`;
  const domains = outcome.ruleSet.domains.map(domain => ({ name: domain.name, rules: countRules(domain) }));
  return `${JSON.stringify({ ok: true, files, ignored, warnings, domains })}\n`;
}

/** Entries with a limit, unlimited ones among them. */
function countRules(domain: DomainRules): number {
  let count = 0;
  const pending: RuleEntry[] = [...domain.entries];
  for (let entry = pending.pop(); entry !== undefined; entry = pending.pop()) {
    if (entry.limit !== null) count++;
    for (const nested of entry.entries) pending.push(nested);
  }
  return count;
}
