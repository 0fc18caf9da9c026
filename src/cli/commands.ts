import { packageVersion } from '../base/package.ts';
import type { SteeringKind } from '../steering/record.ts';
import { type CliIo, EXIT, UsageFault } from './terminal/io.ts';

/** One word after `sluice`. */
export interface Command {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** The help that `sluice <name> [args] --help` prints. */
  usage(args: readonly string[]): string | Promise<string>;
  /**
   * Runs the command and returns its exit status.
   *
   * @throws CommandFault if the command fails
   */
  run(args: string[], io: CliIo): Promise<number>;
}

const SERVE_USAGE = `Usage: sluice serve [--quickstart]

Runs the service until it receives SIGTERM or SIGINT. It serves rate limit
decisions over gRPC and HTTP, and tasks if TASKS_ENABLED is true. All settings
come from the environment: "sluice settings" lists them.

Flags:
  --quickstart  use the sample rules and the embedded store, and serve tasks,
                unless the environment says otherwise

Exit status: 0 the service has shut down, 2 it could not start.

Examples:
  sluice serve --quickstart
  RUNTIME_ROOT=/etc/sluice REDIS_URL=redis:6379 sluice serve
`;

const VERSION_USAGE = `Usage: sluice version

Prints the version of Sluice. "sluice --version" does the same.

Example:
  sluice version
`;

/** All commands, in the order of the help. The code of a command is loaded when it runs, so that commands start fast. */
export const COMMANDS: readonly Command[] = [
  {
    name: 'serve',
    summary: 'run the service',
    usage: () => SERVE_USAGE,
    run: async (args, io) => (await import('./serve/serve.ts')).runServe(args, io),
  },
  {
    name: 'client',
    summary: 'ask a running service for one decision',
    usage: async () => (await import('./client/client.ts')).CLIENT_USAGE,
    run: async (args, io) => (await import('./client/client.ts')).runClient(args, io),
  },
  {
    name: 'explain',
    summary: 'explain what a decision would be and why, without counting',
    usage: async () => (await import('./explain.ts')).EXPLAIN_USAGE,
    run: async (args, io) => (await import('./explain.ts')).runExplain(args, io),
  },
  {
    name: 'top',
    summary: 'show the limits with the most refusals per second',
    usage: async () => (await import('./operator/top.ts')).TOP_USAGE,
    run: async (args, io) => (await import('./operator/top.ts')).runTop(args, io),
  },
  {
    name: 'tail',
    summary: 'print rejections as they happen',
    usage: async () => (await import('./operator/tail.ts')).TAIL_USAGE,
    run: async (args, io) => (await import('./operator/tail.ts')).runTail(args, io),
  },
  {
    name: 'counters',
    summary: 'read or reset the counters of a descriptor',
    usage: async () => (await import('./operator/counters.ts')).COUNTERS_USAGE,
    run: async (args, io) => (await import('./operator/counters.ts')).runCounters(args, io),
  },
  steeringCommand('override', 'change the limit of some descriptors until a time'),
  steeringCommand('ban', 'refuse some descriptors until a time'),
  steeringCommand('pass', 'allow some descriptors until a time, without counting'),
  {
    name: 'rehearse',
    summary: 'try rules on the requests of a running service',
    usage: async () => (await import('./operator/rehearse.ts')).REHEARSE_USAGE,
    run: async (args, io) => (await import('./operator/rehearse.ts')).runRehearse(args, io),
  },
  {
    name: 'tenants',
    summary: 'list, suspend and resume the tenants of a running service',
    usage: async () => (await import('./operator/tenants.ts')).TENANTS_USAGE,
    run: async (args, io) => (await import('./operator/tenants.ts')).runTenants(args, io),
  },
  {
    name: 'check',
    summary: 'check rule files without serving them',
    usage: async () => (await import('./check.ts')).CHECK_USAGE,
    run: async (args, io) => (await import('./check.ts')).runCheck(args, io),
  },
  {
    name: 'settings',
    summary: 'list the settings of "serve", or those that contain a word',
    usage: async () => (await import('./settings.ts')).SETTINGS_USAGE,
    run: async (args, io) => (await import('./settings.ts')).runSettings(args, io),
  },
  {
    name: 'tasks',
    summary: 'manage the tasks, workers and accounts of a running service',
    usage: async args => (await import('./tasks/tasks.ts')).tasksUsage(args),
    run: async (args, io) => (await import('./tasks/tasks.ts')).runTasks(args, io),
  },
  {
    name: 'version',
    summary: 'print the version',
    usage: () => VERSION_USAGE,
    run: async (args, io) => printVersion(args, io),
  },
];

function steeringCommand(name: SteeringKind, summary: string): Command {
  return {
    name,
    summary,
    usage: async () => (await import('./operator/steering.ts')).steeringUsage(name),
    run: async (args, io) => (await import('./operator/steering.ts')).runSteering(name, args, io),
  };
}

function printVersion(args: readonly string[], io: CliIo): number {
  if (args.length > 0) throw new UsageFault(`unexpected argument "${args[0]}".`);
  io.stdout(`sluice ${packageVersion()}\n`);
  return EXIT.done;
}
