import { packageVersion } from '../base/package.ts';
import type { SteeringKind } from '../steering/record.ts';
import { refuseArguments } from './terminal/flags.ts';
import { type CliIo, EXIT } from './terminal/io.ts';

/** What the module of a command exports. */
interface CommandModule {
  readonly usage: string | ((args: readonly string[]) => string);
  run(args: string[], io: CliIo): Promise<number>;
}

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

/** All commands, in the order of the help. */
export const COMMANDS: readonly Command[] = [
  {
    name: 'serve',
    summary: 'run the service',
    usage: () => SERVE_USAGE,
    run: async (args, io) => (await import('./serve/serve.ts')).runServe(args, io),
  },
  loaded('client', 'ask a running service for one decision', () => import('./client/client.ts')),
  loaded(
    'explain',
    'explain what a decision would be and why, without counting',
    () => import('./explain.ts'),
  ),
  loaded('top', 'show the limits with the most refusals per second', () => import('./operator/top.ts')),
  loaded('tail', 'print rejections as they happen', () => import('./operator/tail.ts')),
  loaded('counters', 'read or reset the counters of a descriptor', () => import('./operator/counters.ts')),
  loaded('leases', 'list or release the leases of a descriptor', () => import('./operator/leases.ts')),
  loaded(
    'quota',
    'list the buckets that proxies report, and their grants',
    () => import('./operator/quota.ts'),
  ),
  steering('override', 'change the limit of some descriptors until a time'),
  steering('ban', 'refuse some descriptors until a time'),
  steering('pass', 'allow some descriptors until a time, without counting'),
  loaded(
    'rehearse',
    'try rules on the requests of a running service',
    () => import('./operator/rehearse.ts'),
  ),
  loaded(
    'tenants',
    'list, suspend and resume the tenants of a running service',
    () => import('./operator/tenants.ts'),
  ),
  loaded('check', 'check rule files without serving them', () => import('./check.ts')),
  loaded(
    'settings',
    'list the settings of "serve", or those that contain a word',
    () => import('./settings.ts'),
  ),
  loaded(
    'tasks',
    'manage the tasks, workers and accounts of a running service',
    () => import('./tasks/tasks.ts'),
  ),
  {
    name: 'version',
    summary: 'print the version',
    usage: () => VERSION_USAGE,
    run: async (args, io) => {
      refuseArguments(args);
      io.stdout(`sluice ${packageVersion()}\n`);
      return EXIT.done;
    },
  },
];

/** A command whose code is loaded when it runs, so that commands start fast. */
function loaded(name: string, summary: string, load: () => Promise<CommandModule>): Command {
  return {
    name,
    summary,
    usage: async args => {
      const { usage } = await load();
      return typeof usage === 'string' ? usage : usage(args);
    },
    run: async (args, io) => (await load()).run(args, io),
  };
}

function steering(kind: SteeringKind, summary: string): Command {
  return loaded(kind, summary, async () => (await import('./operator/steering.ts')).steering(kind));
}
