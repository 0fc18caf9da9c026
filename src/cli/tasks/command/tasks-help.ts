import { describeFlags } from '../../terminal/flags.ts';
import type { CommandSection, TasksCommand } from './tasks-command.ts';

/** `sluice tasks --help` */
export function overview(sections: readonly CommandSection[]): string {
  const lists = sections.map(({ heading, commands }) => `${heading}:\n${summaries(commands)}`);
  return `Usage: sluice tasks <what> [flags]

${lists.join('\n')}
"sluice tasks <what> --help" describes one of them and its flags.

The tenant and the token come from SLUICE_URL and SLUICE_TOKEN. Commands of the operator take the token of the operator
from ACCOUNTS_OPERATOR_TOKEN, and the address of the service from --service or SLUICE_SERVICE. Tokens are never
arguments, which other users of the machine can see.

With --json, the answer of the service is printed as it is; a list is one array of all its pages. Tables show times in
UTC.

Exit status: 0 it was done, 1 some of it was not, 2 it could not be done.

Example:
  eval "$(sluice tasks create-account acme --export)"
  eval "$(sluice tasks add-worker mailer --push-to http://localhost:9000/ --export)"
  sluice tasks create mailer --payload '{"to":"ann@example.com"}'
  sluice tasks history --newest --follow
`;
}

/** The help of a group such as `schedules`. */
export function groupUsage(group: string, commands: readonly TasksCommand[]): string {
  return `Usage: sluice tasks ${group} <what> [flags]

${summaries(commands)}
"sluice tasks ${group} <what> --help" shows the flags of one of them.
`;
}

/** The help of one command. */
export function commandUsage({ name, takes, summary, flags, notes }: TasksCommand): string {
  const call = ['sluice tasks', name, takes, '[flags]'].filter(part => part !== '').join(' ');
  return `Usage: ${call}

${summary[0].toUpperCase()}${summary.slice(1)}.
${notes === undefined ? '' : `\n${notes}\n`}
Flags:
${describeFlags(flags)}`;
}

function summaries(commands: readonly TasksCommand[]): string {
  const rows = commands.map(({ name, takes, summary }) => [`${name} ${takes}`.trimEnd(), summary]);
  const width = Math.max(...rows.map(([call]) => call.length));
  return rows.map(([call, summary]) => `  ${call.padEnd(width)}  ${summary}\n`).join('');
}
