import { stat } from 'node:fs/promises';
import { type LoadOptions, loadRuleSet } from '../../rules/parse/load.ts';
import { type RuleFault, type RuleFile, RuleSetRefused } from '../../rules/rule-set.ts';
import {
  type RuleDirectoryContent,
  RuleSourceFault,
  readRuleDirectory,
  readRuleFile,
} from '../../rules/source/read-directory.ts';
import { CommandFault, UsageFault } from '../terminal/command-fault.ts';
import { parseFlags } from '../terminal/flags.ts';
import { type CliIo, EXIT } from '../terminal/io.ts';
import { CHECK_FLAGS } from './check-flags.ts';
import { type CheckResult, checkJson, checkText, type LoadOutcome } from './check-output.ts';

/**
 * `sluice check`: reads a rule directory or one file through the same functions as the service and reports every fault and warning.
 *
 * @returns the exit status: `refused` when the service would not load the rules
 * @throws CommandFault if the arguments are wrong or the directory or file cannot be read
 */
export async function runCheck(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, CHECK_FLAGS);
  const path = onlyPath([flags['config-dir'], ...positionals].filter(text => text !== ''));
  const content = await readRules(path, flags['ignore-dot-files']);
  const warnings: RuleFault[] = [];
  const onWarning = (warning: RuleFault): unknown => warnings.push(warning);
  const result: CheckResult = {
    files: content.files.map(file => file.name),
    ignored: content.ignored,
    warnings,
    outcome: load(content.files, { mergeDomains: flags['merge-domain-configs'], onWarning }),
  };
  io.stdout(flags.json ? checkJson(result) : checkText(path, result));
  return 'faults' in result.outcome ? EXIT.refused : EXIT.done;
}

async function readRules(path: string, ignoreDotFiles: boolean): Promise<RuleDirectoryContent> {
  try {
    const isFile = await stat(path).then(
      found => found.isFile(),
      () => false,
    );
    if (isFile) return { files: [{ name: path, content: await readRuleFile(path) }], ignored: [] };
    return await readRuleDirectory(path, { ignoreDotFiles });
  } catch (failure) {
    if (!(failure instanceof RuleSourceFault)) throw failure;
    throw new CommandFault(failure.message, { cause: failure });
  }
}

function onlyPath(paths: readonly string[]): string {
  if (paths.length === 1) return paths[0];
  if (paths.length === 0) throw new UsageFault('which directory or file? Write: sluice check DIR.');
  throw new UsageFault(`one directory or file at a time, not ${paths.length}: ${paths.join(', ')}.`);
}

function load(files: readonly RuleFile[], options: LoadOptions): LoadOutcome {
  try {
    return { ruleSet: loadRuleSet(files, options) };
  } catch (failure) {
    if (!(failure instanceof RuleSetRefused)) throw failure;
    return { faults: failure.faults };
  }
}
