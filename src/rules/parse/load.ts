import { quote } from '../../base/printable.ts';
import type {
  DomainRules,
  MAX_REPORTED_FAULTS,
  RuleEntry,
  RuleFault,
  RuleFile,
  RuleSet,
} from '../rule-set.ts';
import { checkBucketOrders } from './check-bucket-orders.ts';
import { checkEntries, type Level } from './check-entries.ts';
import { checkPatternCounts } from './conditions/check-pattern-counts.ts';
import { ConditionScope } from './conditions/condition-scope.ts';
import { warnAboutUnreachable } from './conditions/warn-unreachable.ts';
import { addDomainBlocks, type DomainBlocks, domainFields, missingBlocks } from './domain-blocks.ts';
import { checkKeys } from './fields/field-names.ts';
import { offsetOf, textField } from './fields/fields.ts';
import { FaultList, type FileCheck } from './fields/file-check.ts';
import { warnAboutRepeats, withUniqueKeys } from './fields/repeated-keys.ts';
import { EntryBudget, ExtraRowBudget, type LoadScope, PlainLimits, SharedClasses } from './load-scope.ts';
import { Overlay } from './overlay/overlay.ts';
import { readRuleFile } from './reading/read-file.ts';
import { readResource } from './reading/read-resource.ts';
import type { YamlMap } from './yaml/yaml-node.ts';

/** The settings of the service that determine which rules it accepts. */
export interface LoadSettings {
  /** Whether several files may define entries of one domain (`MERGE_DOMAIN_CONFIG`). */
  readonly mergeDomains: boolean;
  /** Whether the counters are in memcached: then sliding windows and token buckets are refused. Default: false. */
  readonly forMemcached?: boolean;
  /** What the settings add to all answers: bits of `ANSWER`. Names that no answer shows are not compiled. Default: 0. */
  readonly answers?: number;
  /** Whether dots in keys and values become `_` in the names of statistics. Default: false. */
  readonly undotsStatistics?: boolean;
  /** Whether months are those of the calendar, in UTC, instead of 30 days. Default: false. */
  readonly calendarMonths?: boolean;
}

export interface LoadOptions extends LoadSettings {
  /** Called for each probable mistake in a file, at most {@link MAX_REPORTED_FAULTS} times. */
  readonly onWarning?: (warning: RuleFault) => void;
}

interface Domain {
  readonly firstFile: string;
  readonly level: Level;
  readonly entries: RuleEntry[];
  readonly blocks: DomainBlocks;
}

/**
 * Reads and checks rule files and resources (spec 2.2), in the given order. Without files, the set is empty. With
 * merging, the top-level entries of later files are added to the same domain; nested entries are not merged. Overlay files
 * change the others, wherever they are in the list.
 *
 * @throws RuleSetRefused with all faults, if there is any
 */
export function loadRuleSet(files: readonly RuleFile[], options: LoadOptions): RuleSet {
  const faults = new FaultList(options.onWarning);
  const domains = new Map<string, Domain>();
  const scope: LoadScope = {
    budget: new EntryBudget(),
    plainLimits: new PlainLimits(),
    extraRows: new ExtraRowBudget(),
    classes: new SharedClasses(),
    conditions: new ConditionScope(files.filter(file => file.format === 'values')),
    quotas: new Map(),
    forMemcached: options.forMemcached ?? false,
  };
  const overlay = new Overlay(
    files.filter(file => file.format === 'overlay'),
    faults,
  );
  const rules = files.filter(file => file.format !== 'overlay' && file.format !== 'values');
  for (const file of rules) {
    if (faults.full) break;
    const read = file.format === 'resource' ? readResource(file, faults) : readRuleFile(file, faults);
    if (read === null) continue;
    const { check, root } = overlay.applied(read);
    checkFile(check, root, { domains, scope, mergeDomains: options.mergeDomains });
  }
  for (const [name, domain] of domains) {
    const added = overlay.blocksOf(name, missingBlocks(domain.blocks));
    if (added !== null) addDomainBlocks(added.check, added.root, domain.blocks);
  }
  faults.throwIfAny();
  if (scope.conditions.places.size > 0) {
    for (const { entries } of domains.values()) checkPatternCounts(entries, scope.conditions.places);
    faults.throwIfAny();
  }
  if (scope.quotas.size > 0) {
    for (const { entries } of domains.values()) checkBucketOrders(entries, scope.quotas);
    faults.throwIfAny();
  }
  if (options.onWarning !== undefined && scope.conditions.places.size > 0)
    for (const { entries } of domains.values()) warnAboutUnreachable(entries, scope.conditions.places);
  if (rules.length > 0 && options.onWarning !== undefined) overlay.warnAboutUnused(options.onWarning);
  return { domains: Array.from(domains, ([name, domain]) => rulesOf(name, domain)) };
}

function rulesOf(name: string, { entries, blocks }: Domain): DomainRules {
  return { name, entries, ...domainFields(blocks) };
}

interface LoadState {
  readonly domains: Map<string, Domain>;
  readonly scope: LoadScope;
  readonly mergeDomains: boolean;
}

function checkFile(check: FileCheck, written: YamlMap, state: LoadState): void {
  const root = withUniqueKeys(check, written, 'file');
  const name = textField(check, root, 'domain');
  if (name === '') {
    check.fault(
      offsetOf(root, 'domain'),
      `the ${check.source.noun} has no domain: write \`domain: \` and a name at the top`,
    );
  }
  if (name) check.enterDomain(name);
  checkKeys(check, root, 'file');
  warnAboutRepeats(check, written, root, 'file');
  const domain = openDomain(check, root, name ?? '', state);
  addDomainBlocks(check, root, domain.blocks);
  for (const entry of checkEntries(check, root, domain.level, state.scope)) domain.entries.push(entry);
}

/** The domain that a file adds to. A file with a faulty domain is still checked, as a separate domain. */
function openDomain(check: FileCheck, root: YamlMap, name: string, state: LoadState): Domain {
  const known = state.domains.get(name);
  const own = { firstFile: check.source.file, level: new Map(), entries: [], blocks: {} };
  if (name === '') return own;
  if (known === undefined) {
    state.domains.set(name, own);
    return own;
  }
  if (state.mergeDomains) return known;
  check.fault(
    offsetOf(root, 'domain'),
    `the domain ${quote(name)} is already defined in ${known.firstFile}: give this one another name, ` +
      'move the entries there, or set MERGE_DOMAIN_CONFIG=true',
  );
  return own;
}
