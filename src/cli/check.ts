import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { printable } from '../base/printable.ts';
import { type LoadOptions, loadRuleSet } from '../rules/parse/load.ts';
import { ruleDigest, shortDigest } from '../rules/rule-digest.ts';
import {
  type DomainRules,
  describeRuleFault,
  MAX_REPORTED_FAULTS,
  type RuleEntry,
  type RuleFault,
  type RuleFile,
  type RuleSet,
  RuleSetRefused,
} from '../rules/rule-set.ts';
import {
  type RuleDirectoryContent,
  RuleSourceFault,
  readRuleDirectory,
  readRuleFile,
} from '../rules/source/read-directory.ts';
import { mayHaveValueFiles, namedValueFiles } from '../rules/source/value-files.ts';
import { explainedConditions } from '../rules/words/condition-words.ts';
import { explainedLimits } from '../rules/words/limit-words.ts';
import { requestsInWords } from '../rules/words/request-words.ts';
import { SettingsRefused } from '../settings/faults.ts';
import { loadSettings } from '../settings/load.ts';
import type { Settings } from '../settings/table.ts';
import { DEBUG_ADDRESS } from './operator/operator-call.ts';
import { describeFlags, parseFlags, refuseArguments, textFlag } from './terminal/flags.ts';
import { type CliIo, CommandFault, EXIT, UsageFault } from './terminal/io.ts';
import { linesText } from './terminal/layout.ts';

/** Flags of `sluice check`. The first two are those of the reference implementation's check. */
const CHECK_FLAGS = {
  'config-dir': textFlag('DIR', 'directory of the rule files; same as DIR without the flag'),
  'merge-domain-configs': {
    kind: 'switch',
    help: 'allow several files to share a domain, like the service with MERGE_DOMAIN_CONFIG=true',
  },
  'ignore-dot-files': {
    kind: 'switch',
    help: 'skip files whose name starts with a dot, like the service with RUNTIME_IGNOREDOTFILES=true',
  },
  overlay: textFlag('DIR', 'directory of overlay files, like the service with RULES_OVERLAY=DIR'),
  'xds-dump': textFlag('FILE', 'instead of DIR: resources of an xDS server as YAML, one document each'),
  digest: { kind: 'switch', help: 'print only the digest of the rules' },
  applied: textFlag('DIGEST', 'ask a running service whether all instances use these rules'),
  wait: textFlag('DURATION', 'with --applied: how long to wait until they do', '0s'),
  instances: textFlag('N', 'with --applied: how many instances there must be', '1'),
  'debug-address': DEBUG_ADDRESS,
  timeout: textFlag('DURATION', 'with --applied: how long to wait for an answer', '5s'),
  json: { kind: 'switch', help: 'print the result as one line of JSON' },
} as const;

export const usage = `Usage: sluice check DIR|FILE [flags]
       sluice check --xds-dump FILE [flags]
       sluice check --applied DIGEST [--wait DURATION] [flags]

Reads the rule files directly in DIR (*.yaml and *.yml), or one FILE, like the
service, and reports every fault and warning. Limits that are more than a number
of requests per unit are explained in words. The digest says which rules these
are: rules that say the same have the same digest, whatever their files are.

With --applied, it asks the debug port of a running service whether all
instances that share its Redis use the rules with this digest, for hooks of
deployments. 12 of its 64 digits are enough. --wait repeats the question until
they do.

If the environment selects memcached as the counter store (BACKEND_TYPE or
ALTCACHE_HOST_PORT), rules that memcached cannot count are faults.

Flags:
${describeFlags(CHECK_FLAGS)}
Flags may start with one dash or two and may contain "_" instead of "-":
-config_dir is --config-dir. "sluice config_check" is the same command.

Exit status: 0 the service would load the files, 1 it would reject them, 2 the
directory or file cannot be read. With --applied: 0 all instances use the rules,
1 some do not, 2 the service does not answer.

Examples:
  sluice check /etc/sluice/ratelimit/config
  sluice check shop.yaml --json
  sluice check --xds-dump resources.yaml --overlay /etc/sluice/overlay
  sluice check --applied "$(sluice check ./config --digest)" --wait 60s
`;

/**
 * `sluice check`: reads a rule directory or one file through the same functions as the service and reports every fault and
 * warning; or asks a running service whether all instances use some rules.
 *
 * @returns the exit status: `refused` when the service would not load the rules, or not all instances use them
 * @throws CommandFault if the arguments are wrong, the directory or file cannot be read, or the service does not answer
 */
export async function run(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, CHECK_FLAGS);
  const paths = [flags['config-dir'], flags['xds-dump'], ...positionals].filter(text => text !== '');
  if (flags.applied !== '') {
    const files = [...paths, flags.overlay].filter(text => text !== '');
    refuseArguments(files, ' --applied asks about a digest, not about files.');
    return await (await import('./operator/applied.ts')).checkApplied(flags, io);
  }
  if (flags.wait !== '0s' || flags.instances !== '1') {
    throw new UsageFault('--wait and --instances are only for --applied DIGEST.');
  }
  const path = onlyPath(paths);
  const content = await readRules(path, flags['ignore-dot-files']);
  const rules = flags['xds-dump'] === '' ? content.files : content.files.flatMap(documentsOf);
  const overlay = flags.overlay === '' ? [] : await readOverlay(flags.overlay, flags['ignore-dot-files']);
  const environment = settingsOf(io.env);
  const warnings: RuleFault[] = [];
  const onWarning = (warning: RuleFault): unknown => warnings.push(warning);
  const result: CheckResult = {
    files: content.files.map(file => file.name),
    ignored: content.ignored,
    dangling: content.dangling,
    warnings,
    outcome: load([...overlay, ...rules], {
      mergeDomains: flags['merge-domain-configs'],
      forMemcached: environment?.backendType === 'memcached',
      onWarning,
    }),
    calendarMonths: environment?.useCalendarMonthRateLimit ?? false,
  };
  const { outcome } = result;
  if (!flags.digest) io.stdout(flags.json ? checkJson(result) : checkText(path, result));
  // A script takes everything on standard output for the digest.
  else if ('faults' in outcome) io.stderr(checkText(path, result));
  else io.stdout(`${outcome.digest}\n`);
  return 'faults' in outcome ? EXIT.refused : EXIT.done;
}

/** The settings of the service. Null if one is wrong, which does not matter where rules are checked. */
function settingsOf(env: CliIo['env']): Settings | null {
  try {
    return loadSettings(env);
  } catch (refused) {
    if (refused instanceof SettingsRefused) return null;
    throw refused;
  }
}

async function readRules(path: string, ignoreDotFiles: boolean): Promise<RuleDirectoryContent> {
  try {
    const isFile = await stat(path).then(
      found => found.isFile(),
      () => false,
    );
    if (isFile) return await readOneFile(path);
    return await readRuleDirectory(path, { ignoreDotFiles });
  } catch (failure) {
    if (!(failure instanceof RuleSourceFault)) throw failure;
    throw new CommandFault(failure.message, { cause: failure });
  }
}

/** A rule file, and the files of values beside it that it names. */
async function readOneFile(path: string): Promise<RuleDirectoryContent> {
  const rules: RuleFile = { name: path, content: await readRuleFile(path) };
  const hasValueFiles = mayHaveValueFiles(rules);
  const directory = dirname(path);
  const others = hasValueFiles ? namedValueFiles(await readdir(directory), [rules]) : [];
  const values = others
    .filter(name => name !== basename(path))
    .map(async name => {
      const file = join(directory, name);
      return { name: file, content: await readRuleFile(file), format: 'values' as const };
    });
  return { files: [rules, ...(await Promise.all(values))], hasValueFiles, ignored: [], dangling: [] };
}

async function readOverlay(path: string, ignoreDotFiles: boolean): Promise<readonly RuleFile[]> {
  const { files } = await readRules(path, ignoreDotFiles);
  return files.filter(({ format }) => format !== 'values').map(file => ({ ...file, format: 'overlay' }));
}

/** The documents of a YAML file that are more than comments. A `---` may be followed by a comment or by content. */
function documentsOf({ name, content }: RuleFile): readonly RuleFile[] {
  const text = Buffer.from(content).toString('utf8');
  let linesBefore = 0;
  return text.split(/^---(?=\s|$)/m).flatMap(document => {
    const file = { name, content: Buffer.from(document), linesBefore };
    linesBefore += document.split('\n').length - 1;
    return /^\s*[^\s#]/m.test(document) ? [file] : [];
  });
}

function onlyPath(paths: readonly string[]): string {
  if (paths.length === 1) return paths[0];
  if (paths.length === 0) throw new UsageFault('missing argument: the directory or file to check.');
  throw new UsageFault(`too many arguments: ${paths.join(', ')}. Check one directory or file at a time.`);
}

function load(files: readonly RuleFile[], options: LoadOptions): LoadOutcome {
  try {
    const ruleSet = loadRuleSet(files, options);
    return { ruleSet, digest: ruleDigest(ruleSet) };
  } catch (failure) {
    if (!(failure instanceof RuleSetRefused)) throw failure;
    return { faults: failure.faults };
  }
}

/** The result of a check. */
interface CheckResult {
  /** Names of the files that were read. */
  readonly files: readonly string[];
  /** Names of entries of the directory that are not rule files. */
  readonly ignored: readonly string[];
  /** Names of rule files that are links to files that do not exist. */
  readonly dangling: readonly string[];
  /** Rules that may not do what was meant; the service logs these warnings when it loads the files. */
  readonly warnings: readonly RuleFault[];
  readonly outcome: LoadOutcome;
  /** Whether the service would count in months of the calendar. */
  readonly calendarMonths: boolean;
}

interface LoadedRules {
  readonly ruleSet: RuleSet;
  readonly digest: string;
}

/** The rules, or why the service would refuse them. */
type LoadOutcome = LoadedRules | { readonly faults: readonly RuleFault[] };

/** The result for people: every warning and fault on a line of its own and their count, or what would be loaded. */
function checkText(directory: string, result: CheckResult): string {
  const { files, ignored, dangling, warnings, outcome, calendarMonths } = result;
  const lines = warnings.map(warning =>
    describeRuleFault({ ...warning, message: `warning: ${warning.message}` }),
  );
  if ('faults' in outcome) lines.push(...faultLines(outcome.faults));
  else lines.push(summary(files, outcome, warnings.length), ...wordLines(outcome.ruleSet, calendarMonths));
  if (files.length === 0)
    lines.push(`no *.yaml or *.yml file in ${directory}: every request would be allowed`);
  if (ignored.length > 0) lines.push(`not read, as not *.yaml or *.yml: ${ignored.join(', ')}`);
  if (dangling.length > 0)
    lines.push(`skipped, as a link to a file that does not exist: ${dangling.join(', ')}`);
  return linesText(lines.map(printable));
}

function faultLines(faults: readonly RuleFault[]): string[] {
  // The list of faults is limited, so there may be more.
  const more = faults.length >= MAX_REPORTED_FAULTS ? ' or more' : '';
  const noun = faults.length === 1 ? 'fault' : 'faults';
  return [
    ...faults.map(describeRuleFault),
    `${faults.length}${more} ${noun}: the service would not load these files`,
  ];
}

function summary(files: readonly string[], { ruleSet, digest }: LoadedRules, warnings: number): string {
  const { domains } = ruleSet;
  const rules = domains.reduce((total, domain) => total + countRules(domain), 0);
  const more = warnings >= MAX_REPORTED_FAULTS ? ' or more' : '';
  const warned = warnings === 0 ? '' : `, ${warnings}${more} ${warnings === 1 ? 'warning' : 'warnings'}`;
  const parts = [counted(files.length, 'file'), counted(domains.length, 'domain'), counted(rules, 'rule')];
  return `no faults${warned}: ${parts.join(', ')}, digest ${shortDigest(digest)}`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Maximum number of limits, of conditions, and of lines about requests, that the text explains. */
const MAX_EXPLAINED = 100;

function wordLines(rules: RuleSet, calendarMonths: boolean): string[] {
  const requests = requestWords(rules).flatMap(({ domain, meaning }) =>
    meaning.map(line => ({ rule: `${domain}: requests`, meaning: line })),
  );
  return [
    ...explainedLines(requests, 'lines about requests'),
    ...explainedLines(explainedConditions(rules), 'conditions'),
    ...explainedLines(explainedLimits(rules, calendarMonths), 'limits'),
  ];
}

/** What the domains do with requests of proxies that ask over HTTP. */
function requestWords({ domains }: RuleSet): { readonly domain: string; readonly meaning: string[] }[] {
  return domains.flatMap(({ name, requests }) =>
    requests === undefined ? [] : [{ domain: name, meaning: requestsInWords(requests) }],
  );
}

function explainedLines(
  explained: Iterable<{ readonly rule: string; readonly meaning: string }>,
  noun: string,
): string[] {
  const lines: string[] = [];
  let count = 0;
  for (const { rule, meaning } of explained) {
    if (count++ < MAX_EXPLAINED) lines.push(`${rule}: ${meaning}`);
  }
  if (count > MAX_EXPLAINED) lines.push(`${count - MAX_EXPLAINED} more ${noun}; --json explains all of them`);
  return lines;
}

/** The result as one line of JSON: `faults` where there are some, else `domains`. */
function checkJson(result: CheckResult): string {
  const { files, ignored, dangling, warnings, outcome } = result;
  const read = { files, ignored, dangling, warnings };
  if ('faults' in outcome) return `${JSON.stringify({ ok: false, ...read, faults: outcome.faults })}\n`;
  const { ruleSet, digest } = outcome;
  const domains = ruleSet.domains.map(domain => ({ name: domain.name, rules: countRules(domain) }));
  const limits = [...explainedLimits(ruleSet, result.calendarMonths)];
  const conditions = [...explainedConditions(ruleSet)];
  const requests = requestWords(ruleSet);
  return `${JSON.stringify({ ok: true, ...read, digest, domains, limits, conditions, requests })}\n`;
}

/** Entries with a limit, unlimited ones among them. */
function countRules(domain: DomainRules): number {
  let count = 0;
  const pending: RuleEntry[] = [...domain.entries];
  for (let entry = pending.pop(); entry !== undefined; entry = pending.pop()) {
    if (entry.limits.length > 0) count++;
    for (const nested of entry.entries) pending.push(nested);
  }
  return count;
}
