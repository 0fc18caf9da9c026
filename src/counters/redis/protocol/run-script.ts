import { createHash } from 'node:crypto';
import { encodedWords } from './command-writer.ts';
import { HOLD_BACK_SCRIPT, INCREMENT_SCRIPT, REFUND_SCRIPT } from './scripts.ts';

/** A script as the words that call it. */
export interface Script {
  /** `EVALSHA` and the digest. */
  readonly byDigest: Uint8Array;
  /** `EVAL` and the text, for a Redis that does not know it (first use, restart, flush). */
  readonly byText: Uint8Array;
}

export const INCREMENT = script(INCREMENT_SCRIPT);
export const REFUND = script(REFUND_SCRIPT);
export const HOLD_BACK = script(HOLD_BACK_SCRIPT);

function script(source: string): Script {
  const sha1 = createHash('sha1').update(source).digest('hex');
  return { byDigest: encodedWords('EVALSHA', sha1), byText: encodedWords('EVAL', source) };
}
