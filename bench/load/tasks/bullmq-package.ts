import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { repositoryRoot } from '../../../test/support/repository.ts';

/** As BullMQ takes it. */
export interface RedisAddress {
  readonly host: string;
  readonly port: number;
  readonly maxRetriesPerRequest: null;
}

interface Queue {
  add(name: string, data: object, options: object): Promise<unknown>;
  addBulk(jobs: readonly { name: string; data: object; opts: object }[]): Promise<unknown>;
  close(): Promise<void>;
}

interface Worker {
  on(event: 'completed', listener: () => void): void;
  on(event: 'error', listener: (failure: Error) => void): void;
  run(): Promise<void>;
  close(): Promise<void>;
}

/** The part of BullMQ that is compared. */
interface Bullmq {
  readonly Queue: new (name: string, options: { readonly connection: RedisAddress }) => Queue;
  readonly Worker: new (
    name: string,
    work: () => Promise<void>,
    options: { readonly connection: RedisAddress; readonly concurrency: number; readonly autorun: boolean },
  ) => Worker;
}

/**
 * BullMQ, which is installed the first time that it is asked for. It stays out of the packages of the project: one of its
 * optional packages is not published for every platform, and then a lock file that names it cannot be installed from.
 */
export async function loadBullmq(): Promise<Bullmq> {
  const folder = join(repositoryRoot(), 'bench/bullmq');
  if (!existsSync(join(folder, 'node_modules/bullmq/package.json'))) install(folder);
  const load = createRequire(join(folder, 'package.json'));
  return load('bullmq') as Bullmq;
}

function install(folder: string): void {
  const flags = ['--omit=optional', '--ignore-scripts', '--no-package-lock', '--no-audit', '--no-fund'];
  execFileSync('npm', ['install', `--prefix=${folder}`, ...flags, '--loglevel=error'], { stdio: 'inherit' });
}
