import { asError, Fault } from '../../../base/fault.ts';

/** What to look at, by how the error of Redis begins. */
const ADVICE: readonly (readonly [beginning: string, advice: string])[] = [
  ['OOM', 'its memory is full: raise maxmemory, or keep finished tasks for a shorter time'],
  ['LOADING', 'it is still reading its data set from disk: wait'],
  ['READONLY', 'it is a replica: the address must lead to the master'],
  ['MISCONF', 'it cannot write to disk: its log says why'],
  ['NOAUTH', 'it asks for a password'],
  ['WRONGPASS', 'it refuses user or password'],
  ['NOPERM', 'the user may not do that: it needs ~<prefix>* with all of @scripting, @read, @write and TIME'],
  ['BUSY', 'another script of somebody keeps it busy: SCRIPT KILL ends that'],
  ['CLUSTERDOWN', 'the cluster has lost slots: CLUSTER INFO on its nodes'],
  ['TRYAGAIN', 'the slot of the tenant is being moved: it works again when that is done'],
  ['MASTERDOWN', 'its master is away'],
  ['NOREPLICAS', 'it has too few replicas for min-replicas-to-write'],
  ['Too many Cluster redirections', 'its slots are being moved, or its nodes disagree: CLUSTER NODES'],
  ['max number of clients reached', 'it takes no more connections: raise maxclients'],
];

/** A failure of Redis, or of the way to it, as a fault that says what to look at. */
export function storeFailure(address: string, doing: string, failure: unknown): Fault {
  if (failure instanceof Fault) return failure;
  const { message } = asError(failure);
  const text = message.startsWith('ERR ') ? message.slice(4) : message;
  const advice = ADVICE.find(
    ([beginning]) => text.startsWith(beginning) || message.includes(` ${beginning} `),
  );
  const shown = `Redis at ${address}, ${doing}: ${message}`;
  return new Fault('store_failed', advice === undefined ? shown : `${shown} (${advice[1]})`, {
    cause: failure,
  });
}
