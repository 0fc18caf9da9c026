import { type LoadOptions, loadRuleSet } from '../../rules/parse/load.ts';
import { type RuleFault, type RuleFile, RuleSetRefused } from '../../rules/rule-set.ts';
import { type RuleDirectoryContent, readRuleDirectory } from '../../rules/source/read-directory.ts';
import { RuleSourceFault } from '../../rules/source/source-fault.ts';
import { CommandFault, UsageFault } from '../terminal/command-fault.ts';
import { parseFlags } from '../terminal/flags.ts';
import { type CliIo, EXIT } from '../terminal/io.ts';
import { CHECK_FLAGS } from './check-flags.ts';
import { type CheckResult, checkJson, checkText, type LoadOutcome } from './check-output.ts';

/**
 * `sluice check`: reads a rule directory through the same functions as the service and reports every fault and warning.
 *
 * @returns the exit status: `refused` when the service would not load the rules
 * @throws CommandFault when the arguments are wrong or the directory cannot be read
 */
export async function runCheck(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, CHECK_FLAGS);
  const directory = onlyDirectory([flags['config-dir'], ...positionals].filter(text => text !== ''));
  const content = await readDirectory(directory, flags['ignore-dot-files']);
  const warnings: RuleFault[] = [];
  const onWarning = (warning: RuleFault): unknown => warnings.push(warning);
  const result: CheckResult = {
    files: content.files.map(file => file.name),
    ignored: content.ignored,
    warnings,
    outcome: load(content.files, { mergeDomains: flags['merge-domain-configs'], onWarning }),
  };
  io.stdout(flags.json ? checkJson(result) : checkText(directory, result));
  return 'faults' in result.outcome ? EXIT.refused : EXIT.done;
}

async function readDirectory(directory: string, ignoreDotFiles: boolean): Promise<RuleDirectoryContent> {
  try {
    return await readRuleDirectory(directory, { ignoreDotFiles });
  } catch (failure) {
    if (!(failure instanceof RuleSourceFault)) throw failure;
    throw new CommandFault(failure.message, { cause: failure });
  }
}

function onlyDirectory(directories: readonly string[]): string {
  if (directories.length === 1) return directories[0];
  if (directories.length === 0) throw new UsageFault('which directory? Write: sluice check DIR.');
  throw new UsageFault(`one directory at a time, not ${directories.length}: ${directories.join(', ')}.`);
}

function load(files: readonly RuleFile[], options: LoadOptions): LoadOutcome {
  try {
    return { ruleSet: loadRuleSet(files, options) };
  } catch (failure) {
    if (!(failure instanceof RuleSetRefused)) throw failure;
    return { faults: failure.faults };
  }
}
