import { asError, Fault } from '../../../../base/fault.ts';
import { StoreFault, type TroubleName } from '../../trouble.ts';

/** What it is and what to look at, by how the error of Redis begins. */
const KNOWN: readonly (readonly [beginning: string, trouble: TroubleName, advice: string])[] = [
  ['OOM', 'redis_memory', 'its memory is full: raise maxmemory, or keep finished tasks for a shorter time'],
  ['LOADING', 'redis_busy', 'it is still reading its data set from disk: wait'],
  ['READONLY', 'redis_read_only', 'it is a replica: the address must lead to the master'],
  ['MISCONF', 'redis_disk', 'it cannot write to disk: its log says why'],
  ['NOAUTH', 'redis_access', 'it asks for a password'],
  ['WRONGPASS', 'redis_access', 'it refuses user or password'],
  [
    'NOPERM',
    'redis_access',
    'the user may not do that: it needs ~<prefix>* with all of @scripting, @read, @write and TIME',
  ],
  ['BUSY', 'redis_busy', 'another script of somebody keeps it busy: SCRIPT KILL ends that'],
  ['CLUSTERDOWN', 'redis_cluster', 'the cluster has lost slots: CLUSTER INFO on its nodes'],
  ['TRYAGAIN', 'redis_cluster', 'the slot of the tenant is being moved: it works again when that is done'],
  ['MASTERDOWN', 'redis_cluster', 'its master is away'],
  ['NOREPLICAS', 'redis_replicas', 'it has too few replicas for min-replicas-to-write'],
  [
    'Too many Cluster redirections',
    'redis_cluster',
    'its slots are being moved, or its nodes disagree: CLUSTER NODES',
  ],
  ['max number of clients reached', 'not_connected', 'it takes no more connections: raise maxclients'],
];

/** A failure of Redis, or of the way to it, as a fault that says what to look at. */
export function storeFailure(
  address: string,
  doing: string,
  failure: unknown,
  otherwise: TroubleName = 'other',
): Fault {
  if (failure instanceof Fault) return failure;
  const { message } = asError(failure);
  const text = message.startsWith('ERR ') ? message.slice(4) : message;
  const known = KNOWN.find(([beginning]) => text.startsWith(beginning) || message.includes(` ${beginning} `));
  const shown = `Redis at ${address}, ${doing}: ${message}`;
  const [, trouble, advice] = known ?? [null, troubleOfClient(message) ?? otherwise, null];
  return new StoreFault(trouble, advice === null ? shown : `${shown} (${advice})`, { cause: failure });
}

/** Null where it is not the client library that says that there is no connection. */
function troubleOfClient(message: string): TroubleName | null {
  return /^(Connection is closed|Stream isn't writeable|Reached the max retries)/.test(message) ||
    /(ECONNREFUSED|ECONNRESET|EPIPE|ENOENT|None of startup nodes is available)/.test(message)
    ? 'not_connected'
    : null;
}
