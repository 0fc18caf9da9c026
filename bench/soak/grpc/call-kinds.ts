import { framed } from '../../support/grpc-framing.ts';
import { LARGE_ANSWER, METHOD, SMALL_ANSWER, STREAM_MESSAGES } from './methods.ts';

/** How a call ends: by `grpc-status`, and with so many bytes of messages and their prefixes. */
export interface Ending {
  readonly status: number;
  readonly contentBytes: number;
}

export interface CallKind {
  readonly name: string;
  /** How often, in relation to the others. */
  readonly weight: number;
  readonly path: string;
  /** `grpc-timeout`; null for none. */
  readonly timeout: string | null;
  /** What is sent at first: all, all of something large, a part, or a part as if it were all. */
  readonly request: 'whole' | 'large' | 'part' | 'truncated';
  /** What the caller does: wait for the answer, send the rest a little later, or give up, later or at once. */
  readonly caller: 'waits' | 'finishes' | 'resets later' | 'resets at once';
  /** The only ending that is right; null when the server must not end the call. */
  readonly ending: Ending | null;
}

const SMALL: Ending = { status: 0, contentBytes: framed(SMALL_ANSWER).length };
const LARGE: Ending = { status: 0, contentBytes: framed(LARGE_ANSWER).length };
const COUNTED: Ending = { status: 0, contentBytes: STREAM_MESSAGES * SMALL.contentBytes };
const DEADLINE_EXCEEDED: Ending = { status: 4, contentBytes: 0 };
const UNIMPLEMENTED: Ending = { status: 12, contentBytes: 0 };
const INTERNAL: Ending = { status: 13, contentBytes: 0 };

const USUAL = {
  path: METHOD.fast as string,
  timeout: null,
  request: 'whole',
  caller: 'waits',
  ending: SMALL,
} as const;

/** Mostly what proxies do all day, and some of everything that may go wrong. */
export const CALL_KINDS: readonly CallKind[] = [
  { ...USUAL, name: 'plain', weight: 600 },
  { ...USUAL, name: 'deadline kept', weight: 280, timeout: '1S' },
  { ...USUAL, name: 'two pieces', weight: 30, request: 'part', caller: 'finishes' },
  { ...USUAL, name: 'answered late', weight: 15, path: METHOD.slow },
  { ...USUAL, name: 'large request', weight: 1, request: 'large' },
  { ...USUAL, name: 'large answer', weight: 2, path: METHOD.large, ending: LARGE },
  { ...USUAL, name: 'stream', weight: 10, path: METHOD.count, ending: COUNTED },
  { ...USUAL, name: 'stream of requests', weight: 10, path: METHOD.talk },
  {
    ...USUAL,
    name: 'stream of requests in two pieces',
    weight: 5,
    path: METHOD.talk,
    request: 'part',
    caller: 'finishes',
  },
  {
    ...USUAL,
    name: 'deadline passed',
    weight: 8,
    path: METHOD.never,
    timeout: '30m',
    ending: DEADLINE_EXCEEDED,
  },
  {
    ...USUAL,
    name: 'deadline passed in half a message',
    weight: 4,
    timeout: '30m',
    request: 'part',
    ending: DEADLINE_EXCEEDED,
  },
  // The answer may cross the reset on its way.
  { ...USUAL, name: 'cancelled', weight: 15, path: METHOD.slow, caller: 'resets later' },
  { ...USUAL, name: 'reset at once', weight: 10, path: METHOD.slow, caller: 'resets at once' },
  {
    ...USUAL,
    name: 'cancelled in half a message',
    weight: 8,
    request: 'part',
    caller: 'resets later',
    ending: null,
  },
  { ...USUAL, name: 'stream cancelled', weight: 5, path: METHOD.watch, caller: 'resets later', ending: null },
  {
    ...USUAL,
    name: 'stream of requests cancelled in half a message',
    weight: 3,
    path: METHOD.talk,
    request: 'part',
    caller: 'resets later',
    ending: null,
  },
  { ...USUAL, name: 'ended in half a message', weight: 6, request: 'truncated', ending: INTERNAL },
  { ...USUAL, name: 'no such method', weight: 6, path: '/soak.Soak/None', ending: UNIMPLEMENTED },
];
