import { MsgpackReader } from '../../../clients/redis/msgpack-reader.ts';
import { USAGE_SPANS, type UsagePairs } from '../../model/usage.ts';
import type { UsageIncrement, UsageOfInterval, UsageQuery } from '../usage.ts';
import type { ReadScript } from './lists.ts';
import { SCRIPTS } from './lua/scripts.ts';
import { ALL_WORKERS } from './lua/usage.ts';

export async function addUsage(run: ReadScript, increments: readonly UsageIncrement[]): Promise<void> {
  if (increments.length === 0) return;
  const args = increments.map(({ at, workerId, figures }) =>
    JSON.stringify([at, workerId ?? ALL_WORKERS, figures]),
  );
  await run(SCRIPTS.addUsage, args);
}

export async function usage(
  run: ReadScript,
  { span, workerId, from, intervals }: UsageQuery,
): Promise<readonly UsageOfInterval[]> {
  const { ms, keepMs } = USAGE_SPANS[span];
  const args = [workerId ?? ALL_WORKERS, ms, keepMs, from, intervals];
  const reply = await run(SCRIPTS.usage, args);
  const found: UsageOfInterval[] = [];
  for (let i = 0; i < reply.length; i += 2) {
    const figures = new MsgpackReader(reply[i + 1] as Buffer).values() as number[];
    found.push({ at: reply[i] as number, figures: figures satisfies UsagePairs });
  }
  return found;
}
