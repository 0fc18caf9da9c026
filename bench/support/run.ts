import { BadArguments } from './options.ts';

/** Statuses of a process that a signal ended, as shells have them. */
const SIGNAL_STATUS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/**
 * Runs a bench. The process ends with status 1 when it fails, and with 2 when its arguments are wrong: then the usage
 * is printed as well. A signal ends it, and with it the children and files that go when the process exits.
 */
export async function runBench(run: () => Promise<void>, usage: string): Promise<void> {
  for (const [signal, status] of Object.entries(SIGNAL_STATUS)) {
    process.once(signal, () => process.exit(status));
  }
  try {
    await run();
  } catch (failure) {
    const { message, code } = failure as Error & { readonly code?: string };
    const isUsage = failure instanceof BadArguments || code?.startsWith('ERR_PARSE_ARGS') === true;
    console.error(isUsage ? `${message}\n\n${usage}` : `\n${message}`);
    process.exitCode = isUsage ? 2 : 1;
  }
}

/** Ends the process, and with it its children, when it still runs after `limitMs`. */
export function limitTime(limitMs: number): void {
  const timer = setTimeout(() => {
    console.error(
      `\nnot done after ${limitMs / 1_000} s: the machine is too busy or a server hangs; nothing is reported`,
    );
    process.exit(1);
  }, limitMs);
  timer.unref();
}
