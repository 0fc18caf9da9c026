import { CommandFault, UsageFault } from '../../terminal/command-fault.ts';
import type { CliIo } from '../../terminal/io.ts';

/**
 * Asks before something that cannot be undone. Where nobody can be asked, `--yes` has to be given.
 *
 * @param what would happen: `cancel 120 tasks`
 * @throws UsageFault when nobody can be asked, CommandFault when the answer is not yes
 */
export async function confirm(what: string, flags: { readonly yes: boolean }, io: CliIo): Promise<void> {
  if (flags.yes) return;
  const input = io.input;
  if (input?.isTerminal !== true) throw new UsageFault(`this would ${what}. Give --yes to do it.`);
  const answer = await input.ask(`This will ${what}. Continue? [y/N] `);
  if (!/^\s*y(es)?\s*$/i.test(answer ?? '')) throw new CommandFault('nothing was changed.');
}
