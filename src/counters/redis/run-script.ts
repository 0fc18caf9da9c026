import { createHash } from 'node:crypto';
import { isUnknownScript, RedisReplyError } from './reply-error.ts';
import { HOLD_BACK_SCRIPT, INCREMENT_SCRIPT } from './scripts.ts';

/** Words of a command, as many as there are. */
export type CommandArguments = readonly (string | number)[];

/** Sends one command. Rejects with a {@link RedisReplyError} when Redis answers an error. */
export type Send = (command: string, args: CommandArguments) => Promise<unknown>;

export interface Script {
  readonly source: string;
  readonly sha1: string;
}

export const INCREMENT = script(INCREMENT_SCRIPT);
export const HOLD_BACK = script(HOLD_BACK_SCRIPT);

function script(source: string): Script {
  return { source, sha1: createHash('sha1').update(source).digest('hex') };
}

/**
 * Runs a script by its digest, and sends its text when Redis does not know it (first use, restart, flush).
 * `args` begin with the number of keys.
 */
export async function runScript(send: Send, script: Script, args: CommandArguments): Promise<unknown> {
  try {
    return await send('EVALSHA', [script.sha1, ...args]);
  } catch (failure) {
    // An unknown script says that nothing was executed, so sending the text counts nothing twice.
    if (!(failure instanceof RedisReplyError && isUnknownScript(failure))) throw failure;
    return send('EVAL', [script.source, ...args]);
  }
}
