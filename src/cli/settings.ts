import type { SettingGroup } from '../settings/kinds/kinds.ts';
import { findSettings, settingsHelp } from '../settings/reference.ts';
import { describeFlags, parseFlags, refuseArguments } from './terminal/flags.ts';
import { type CliIo, EXIT } from './terminal/io.ts';
import { DEFAULT_COLUMNS } from './terminal/layout.ts';

/** Longer lines are hard to read. */
const MAX_COLUMNS = 100;

const SETTINGS_FLAGS = {
  json: { kind: 'switch', help: 'print the settings as a JSON array' },
} as const;

export const usage = `Usage: sluice settings [PATTERN] [flags]

Prints the settings that "sluice serve" reads from the environment, with their
types, ranges and defaults. With PATTERN, prints only the settings whose name,
description or group contains it, in upper or lower case.

Flags:
${describeFlags(SETTINGS_FLAGS)}
Exit status: 0 settings were printed, 1 no setting contains PATTERN, 2 the
arguments are wrong.

Examples:
  sluice settings redis_tls
  sluice settings --json
`;

/**
 * `sluice settings`: prints the settings that contain a pattern, or all.
 *
 * @returns the exit status: `refused` if no setting contains the pattern
 * @throws UsageFault if the arguments are wrong
 */
export async function run(args: readonly string[], io: CliIo): Promise<number> {
  const { values: flags, positionals } = parseFlags(args, SETTINGS_FLAGS);
  const [pattern = '', ...others] = positionals;
  refuseArguments(others, ' Give one pattern.');
  const groups = findSettings(pattern);
  if (flags.json) io.stdout(`${JSON.stringify(groups.flatMap(settingsOf), null, 2)}\n`);
  if (groups.length === 0) {
    io.stderr(`sluice settings: no setting contains "${pattern}". "sluice settings" prints all of them.\n`);
    return EXIT.refused;
  }
  if (!flags.json) io.stdout(settingsHelp(groups, Math.min(io.columns ?? DEFAULT_COLUMNS, MAX_COLUMNS)));
  return EXIT.done;
}

/** The settings of a group as `--json` prints them. */
function settingsOf({ title, settings }: SettingGroup): object[] {
  return Object.values(settings).map(({ names, kind, defaultText, help, secret }) => {
    return { names, group: title, type: kind.label, default: defaultText, secret, help };
  });
}
