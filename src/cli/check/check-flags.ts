import { describeFlags } from '../terminal/flags.ts';

/** Flags of `sluice check`. The first two are those of the reference implementation's check. */
export const CHECK_FLAGS = {
  'config-dir': {
    kind: 'text',
    placeholder: 'DIR',
    default: '',
    help: 'directory of the rule files, the same as DIR without the flag',
  },
  'merge-domain-configs': {
    kind: 'switch',
    help: 'let several files share a domain, as the service does with MERGE_DOMAIN_CONFIG=true',
  },
  'ignore-dot-files': {
    kind: 'switch',
    help: 'skip files whose name starts with a dot, as the service does with RUNTIME_IGNOREDOTFILES=true',
  },
  json: { kind: 'switch', help: 'print the result as one line of JSON' },
} as const;

export const CHECK_USAGE = `Usage: sluice check DIR|FILE [flags]

Reads the rule files directly in DIR (*.yaml and *.yml), or one FILE, as the service would and reports every fault.

Flags:
${describeFlags(CHECK_FLAGS)}
A flag may have one dash or two, and "_" is the same as "-": -config_dir is --config-dir.

Exit status: 0 the service would load the files, 1 it would refuse them, 2 the directory or the file cannot be read.

Example:
  sluice check /etc/sluice/ratelimit/config
`;
