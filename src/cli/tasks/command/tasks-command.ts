import type { FlagTable } from '../../terminal/flags.ts';
import type { CliIo } from '../../terminal/io.ts';

/** One command of `sluice tasks`. */
export interface TasksCommand {
  /** The words after `sluice tasks`: `list`, or a group and what to do in it: `schedules create`. */
  readonly name: string;
  /** The arguments as help shows them: `NAME WORKER`; empty for none. */
  readonly takes: string;
  /** One line for the list of commands. */
  readonly summary: string;
  readonly flags: FlagTable;
  /** What else there is to know: whole lines. */
  readonly notes?: string;
  /**
   * @param args without the name
   * @returns the exit status
   * @throws CommandFault
   */
  run(args: readonly string[], io: CliIo): Promise<number>;
}

/** Commands below one heading of the help. */
export interface CommandSection {
  readonly heading: string;
  readonly commands: readonly TasksCommand[];
}
