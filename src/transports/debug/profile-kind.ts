import type { Session } from 'node:inspector/promises';
import type { CallTree } from './pprof.ts';

/** What a profile found, in V8's own form and as a call tree. */
export interface FinishedProfile {
  /** V8's JSON, which Chrome DevTools opens. */
  json(): string;
  callTree(): Pick<CallTree, 'root' | 'valueKinds'>;
}

/** One kind of profile that V8 takes of the thread that asks for it. */
export interface ProfileKind {
  /** Its path below `/debug/pprof/`, as Go programs have it. */
  readonly name: string;
  readonly help: string;
  readonly defaultSeconds: number;
  /** The `format` that asks for V8's JSON, and the ending of its file name in DevTools. */
  readonly jsonFormat: string;
  start(session: Session): Promise<void>;
  finish(session: Session): Promise<FinishedProfile>;
}
