import type { SeededRandom } from '../../../test/support/seeded-random.ts';
import { framed } from '../../support/grpc-framing.ts';
import { CALL_KINDS, type CallKind } from './call-kinds.ts';
import type { ClientConnection } from './client-connection.ts';

const REQUEST = framed(Buffer.from('a request of about as many bytes as a proxy sends'));
const LARGE_REQUEST = framed(Buffer.alloc(150_000, 0x62));

const WHOLE_WEIGHT = CALL_KINDS.reduce((sum, { weight }) => sum + weight, 0);

export function pickKind(random: SeededRandom): CallKind {
  let left = random.below(WHOLE_WEIGHT);
  for (const kind of CALL_KINDS) {
    left -= kind.weight;
    if (left < 0) return kind;
  }
  return CALL_KINDS[0];
}

export interface BegunCall {
  readonly stream: number;
  /** What the caller is to do a little later; null when nothing. */
  readonly next: (() => void) | null;
}

/** Begins a call on the connection, and leaves it to the caller to go on with it. */
export function beginCall(connection: ClientConnection, kind: CallKind, random: SeededRandom): BegunCall {
  const stream = connection.headers(kind);
  // Anywhere, also within the prefix of the message.
  const cut = 1 + random.below(REQUEST.length - 1);
  if (kind.request === 'whole') connection.sendLast(stream, REQUEST);
  else if (kind.request === 'large') connection.sendLast(stream, LARGE_REQUEST);
  else if (kind.request === 'part') connection.sendPart(stream, REQUEST.subarray(0, cut));
  else connection.sendLast(stream, REQUEST.subarray(0, cut));
  switch (kind.caller) {
    case 'waits':
      return { stream, next: null };
    case 'finishes':
      return { stream, next: () => connection.sendLast(stream, REQUEST.subarray(cut)) };
    case 'resets later':
      return { stream, next: () => connection.reset(stream) };
    case 'resets at once':
      connection.reset(stream);
      return { stream, next: null };
  }
}
