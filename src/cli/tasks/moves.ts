import { MOVE_FLAGS, REOPEN_FLAGS } from './move-flags.ts';
import type { TasksCommand } from './tasks-command.ts';

/** `sluice tasks move`: the data of the service, from one store to another. */
export const MOVE_COMMANDS: readonly TasksCommand[] = [
  {
    name: 'move',
    takes: '',
    summary: 'move all data of the task service to another store',
    flags: MOVE_FLAGS,
    notes:
      'Stop all processes of the service first. If the move is interrupted, run the same command again: it goes on. ' +
      'In the end, both stores are read and compared, and the number and a hash of what each tenant has are printed. ' +
      'The source stays as it is, except for a mark that keeps the service from starting on it.\n' +
      'A URL is sqlite:PATH, with the path of the file or of its directory, postgres://user@host/database, or ' +
      'redis://host:port/db (rediss:// for TLS). In a URL of Redis, ?prefix=TEXT stands for TASKS_REDIS_KEY_PREFIX. The nodes of a cluster are separated by commas and end with ' +
      '?type=cluster. Everything else is as the variables TASKS_REDIS_*, TASKS_POSTGRES_* and TASKS_SQLITE_SYNCHRONOUS say.\n' +
      'Set URLs with passwords in SLUICE_MOVE_FROM and SLUICE_MOVE_TO, because other users of the machine can see ' +
      'arguments. Secrets stay encrypted: the service needs the same SECRETS_MASTER_KEY afterwards.',
    examples: [
      'sluice tasks move --from sqlite:/var/lib/sluice --to redis://redis:6379',
      'SLUICE_MOVE_TO="postgres://sluice:$PASSWORD@db/tasks" sluice tasks move \\\n    --from sqlite:data --json',
    ],
    run: async (args, io) => (await import('./move.ts')).move(args, io),
  },
  {
    name: 'reopen',
    takes: '',
    summary: 'let the service start again on a store that was moved to another one',
    flags: REOPEN_FLAGS,
    notes:
      'The store has the tasks that it had when it was moved. Those that ran in the other store since then run again, ' +
      'and those that were created there are not in it.',
    examples: ['sluice tasks reopen --store sqlite:/var/lib/sluice'],
    run: async (args, io) => (await import('./move.ts')).reopen(args, io),
  },
];
