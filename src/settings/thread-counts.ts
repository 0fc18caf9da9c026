import { availableParallelism } from 'node:os';
import type { SettingValues } from './table.ts';

/** Maximum number of serving threads, and of decision threads, that a default starts. */
const MOST_BY_DEFAULT = 8;

/** The settings that decide whether several threads can listen on the gRPC port. */
type Listening = Pick<SettingValues, 'serveThreads' | 'grpcSocketPath' | 'grpcServerEngine'>;

/**
 * The default of `SERVE_THREADS`. On one or two cores, the store and the proxy need the rest of the CPU. On more cores, half
 * of them are left for these and for the tasks.
 */
export function defaultServeThreads(cores = availableParallelism()): number {
  return cores <= 2 ? 1 : Math.min(MOST_BY_DEFAULT, Math.ceil(cores / 2));
}

/** The default of `WORKER_THREADS`: decision threads take work from a primary thread that serves alone. */
export function defaultWorkerThreads(values: Listening, cores = availableParallelism()): number {
  return servingThreads(values).threads > 1 ? 0 : Math.max(0, Math.min(MOST_BY_DEFAULT, cores - 2));
}

/** How gRPC is served. */
interface Serving {
  /** Number of serving threads; 1 if the primary thread serves. */
  readonly threads: number;
  /** Why there are fewer threads than the setting asks for, for the log; null if there are not. */
  readonly reason: string | null;
}

/** Returns the number of serving threads that the settings and the operating system allow. */
export function servingThreads(
  { serveThreads, grpcSocketPath, grpcServerEngine }: Listening,
  platform: NodeJS.Platform = process.platform,
): Serving {
  if (serveThreads === 1) return { threads: 1, reason: null };
  const alone = (reason: string): Serving => ({ threads: 1, reason });
  if (grpcSocketPath !== '') return alone('only one thread can listen on a unix socket (GRPC_UDS)');
  if (grpcServerEngine !== 'sluice') return alone('GRPC_SERVER_ENGINE=grpc-js serves on one thread');
  if (platform !== 'linux') return alone(`on ${platform}, the system does not distribute connections`);
  return { threads: serveThreads, reason: null };
}
