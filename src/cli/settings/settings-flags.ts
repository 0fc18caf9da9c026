import { describeFlags } from '../terminal/flags.ts';

export const SETTINGS_FLAGS = {
  json: { kind: 'switch', help: 'print the settings as a JSON array' },
} as const;

export const SETTINGS_USAGE = `Usage: sluice settings [PATTERN] [flags]

Prints the settings that "sluice serve" reads from the environment, with their types, ranges and defaults. With PATTERN,
prints only the settings whose name, description or group contains it. Upper and lower case are the same.

Flags:
${describeFlags(SETTINGS_FLAGS)}
Exit status: 0 settings were printed, 1 no setting contains PATTERN, 2 wrong arguments.

Example:
  sluice settings redis_tls
`;
