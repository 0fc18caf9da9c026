/**
 * How long processes are killed, in milliseconds: `TASK_KILL_SECONDS` makes it longer than in the usual run of the tests,
 * and `TASK_KILL_SEED` another run.
 */
export function killPlan(usualSeconds: number): {
  readonly killMs: number;
  readonly seed: number;
  readonly boundMs: number;
} {
  const seconds = Number(process.env['TASK_KILL_SECONDS'] ?? usualSeconds);
  const seed = Number(process.env['TASK_KILL_SEED'] ?? 1);
  return { killMs: seconds * 1_000, seed, boundMs: 120_000 };
}
