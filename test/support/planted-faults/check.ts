import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { repositoryRoot } from '../repository.ts';
import { ALL_PLANTED } from './all-planted.ts';

/** What the simulator says about a planted fault. */
export interface PlantedResult {
  readonly name: string;
  /** How many histories it took to find it; null if it was not found. */
  readonly histories: number | null;
  readonly seconds: number;
  /** The promise that was broken, and the history that breaks it, or what went wrong. */
  readonly report: string;
}

/** Runs the simulator with a fault planted in it. */
export async function findPlanted(
  number: number,
  mostSeeds: number,
  firstSeed: number,
): Promise<PlantedResult> {
  const root = repositoryRoot();
  const plant = join(root, 'build/test/support/planted-faults/plant.js');
  const { name, simulator, by } = ALL_PLANTED[number];
  const file = by === 'scenarios' ? 'scenarios.test.js' : 'simulate.js';
  const args = ['--import', plant, join(root, 'build/test/simulation', file)];
  if (by === undefined) {
    const seeds = ['--seeds', String(mostSeeds), '--seed', String(firstSeed), '--first'];
    args.push('--only', simulator, ...seeds);
  }
  const child = spawn(process.execPath, args, {
    env: { ...process.env, PLANTED_FAULT: String(number) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  const report = output + errors;
  if (by === 'scenarios') return { name, histories: child.exitCode === 0 ? null : 1, seconds: 0, report };
  const played = /(\d+) histories in (\d+) s/.exec(output);
  const broken = output.includes('\nbroken: ');
  return {
    name,
    histories: broken && played !== null ? Number(played[1]) : null,
    seconds: Number(played?.[2] ?? 0),
    report,
  };
}
