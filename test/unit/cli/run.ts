import { main } from '../../../src/cli/main.ts';
import type { CliIo } from '../../../src/cli/terminal/io.ts';

/** What a run of `sluice` left behind. */
export interface Run {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `sluice` with these arguments in this process, with an empty environment. */
export function run(...argv: string[]): Promise<Run> {
  return runIn({}, ...argv);
}

/** The same with an environment. */
export function runIn(env: Readonly<Record<string, string>>, ...argv: string[]): Promise<Run> {
  return runWith({ env }, ...argv);
}

/** The same with an environment, a standard input, or both. */
export async function runWith(
  given: Partial<Pick<CliIo, 'env' | 'input' | 'columns'>>,
  ...argv: string[]
): Promise<Run> {
  let stdout = '';
  let stderr = '';
  const status = await main(argv, {
    stdout: text => {
      stdout += text;
    },
    stderr: text => {
      stderr += text;
    },
    env: {},
    columns: null,
    ...given,
    isTerminal: false,
  });
  return { status, stdout, stderr };
}
