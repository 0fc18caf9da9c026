import { CALL_KINDS, type CallKind, type Ending } from './call-kinds.ts';

/** Fault texts that are kept; further ones are counted. */
const FAULTS_KEPT = 20;

/** What the clients have done, and what the server did wrong in their eyes. */
export class Tally {
  readonly begun = new Map<string, number>(CALL_KINDS.map(({ name }) => [name, 0]));
  readonly faults: string[] = [];
  /** Calls that the server ended. */
  ended = 0;
  /** Calls that were open when their connection was left. */
  dropped = 0;
  connections = 0;
  pings = 0;
  faultCount = 0;

  begin({ name }: CallKind): void {
    this.begun.set(name, (this.begun.get(name) ?? 0) + 1);
  }

  end(kind: CallKind, ending: Ending): void {
    this.ended++;
    const right = kind.ending;
    if (right?.status === ending.status && right.contentBytes === ending.contentBytes) return;
    this.fault(`a call (${kind.name}) ended with ${describe(ending)} and not with ${describe(right)}`);
  }

  fault(text: string): void {
    this.faultCount++;
    if (this.faults.length < FAULTS_KEPT) this.faults.push(text);
  }
}

function describe(ending: Ending | null): string {
  if (ending === null) return 'nothing, as its caller gives it up';
  const { status, contentBytes } = ending;
  return status === -1 ? 'a reset' : `status ${status} after ${contentBytes} bytes`;
}
