import type { RedisServer } from './redis-server.ts';
import { until } from './until.ts';

/** Resolves when the replica of a server has all that was written. WAIT knows the writes of its own connection only. */
export async function replicated(master: Pick<RedisServer, 'command'>): Promise<void> {
  await until(async () => {
    const state = String(await master.command('INFO', 'replication'));
    const offsets = [/^slave0:.*,offset=(\d+)/m, /^master_repl_offset:(\d+)/m].map(
      each => each.exec(state)?.[1],
    );
    return offsets[0] !== undefined && offsets[0] === offsets[1];
  });
}
