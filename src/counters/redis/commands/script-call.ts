import { isUnknownScript, RedisReplyError } from '../../../clients/redis/errors.ts';
import type { RedisLink } from '../connections/redis-link.ts';
import { readScriptReply, type Script } from '../protocol/scripts.ts';
import type { Tally } from './counters.ts';

/** One call of a script. */
interface ScriptCall {
  readonly script: Script;
  /** Number of numbers in the reply. */
  readonly expected: number;
  readonly encode: (script: Uint8Array) => Buffer;
  /** Stores the numbers (NaN for keys that were not counted). Returns how many slots or ops were counted. */
  readonly fill: (numbers: Float64Array) => number;
}

/**
 * Runs a script.
 * @throws RedisReplyError, or Fault `store_failed`, if nothing is known to be counted
 */
export async function runScript(
  link: RedisLink,
  { script, expected, encode, fill }: ScriptCall,
): Promise<Tally> {
  let [reply] = await link.exchange(encode(script.byDigest), 1);
  // The error for an unknown script says that it did not run, so sending its text counts nothing twice.
  if (reply instanceof RedisReplyError && isUnknownScript(reply)) {
    [reply] = await link.exchange(encode(script.byText), 1);
  }
  if (reply instanceof RedisReplyError) throw reply;
  const read = readScriptReply(reply, expected);
  if (read === null) throw link.fault('unexpected reply to a script');
  return { counted: fill(read.numbers), failure: read.failure };
}
