import { nearest } from '../base/nearest.ts';
import { COMMANDS, type Command } from './commands.ts';
import { asksForHelp } from './terminal/flags.ts';
import { type CliIo, CommandFault, EXIT, UsageFault } from './terminal/io.ts';

/**
 * Runs `sluice` with the arguments after the program's name and returns the exit status ({@link EXIT}).
 * Answers go to standard output, errors to standard error.
 */
export async function main(argv: string[], io: CliIo): Promise<number> {
  const [name, ...args] = argv;
  if (name === undefined) {
    io.stderr(overview());
    return EXIT.failed;
  }
  if (name === 'help' && args.length > 0 && !asksForHelp(args)) return main([...args, '--help'], io);
  if (name === 'help' || asksForHelp([name])) {
    io.stdout(overview());
    return EXIT.done;
  }
  const command = commandOf(name);
  if (command === undefined) {
    io.stderr(unknownCommand(name));
    return EXIT.failed;
  }
  if (asksForHelp(args)) {
    io.stdout(await command.usage(args));
    return EXIT.done;
  }
  try {
    return await command.run(args, io);
  } catch (failure) {
    if (!(failure instanceof CommandFault)) throw failure;
    const more = failure instanceof UsageFault ? `See "sluice ${failure.command ?? name} --help".\n` : '';
    io.stderr(`sluice ${name}: ${failure.message}\n${more}`);
    return EXIT.failed;
  }
}

/** Other names of commands. The reference implementation calls its check `config_check`. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['config_check', 'check'],
  ['--version', 'version'],
  ['-version', 'version'],
]);

function commandOf(name: string): Command | undefined {
  const own = ALIASES.get(name) ?? name;
  return COMMANDS.find(command => command.name === own);
}

function overview(): string {
  const width = Math.max(...COMMANDS.map(command => command.name.length));
  const commands = COMMANDS.map(command => `  ${command.name.padEnd(width)}  ${command.summary}\n`).join('');
  return `Usage: sluice <command> [flags]

Commands:
${commands}
"sluice help <command>" describes a command and its flags.
Example: sluice serve --quickstart
`;
}

function unknownCommand(name: string): string {
  const meant = nearest(
    name,
    COMMANDS.map(command => command.name),
  );
  const hint = meant === null ? '' : ` Did you mean "${meant}"?`;
  return `sluice: unknown command "${name}".${hint} "sluice --help" lists the commands.\n`;
}
