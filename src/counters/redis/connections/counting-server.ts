import type { RedisEndpoint } from '../../../clients/redis/address.ts';
import type { RedisLink } from './redis-link.ts';

/** A server that counts, for a connection beside those that count. */
export interface CountingServer {
  /** The server as log lines name it, without credentials. */
  readonly address: string;
  /** Finds the current endpoint. Called before each attempt to connect. */
  readonly find: () => Promise<RedisEndpoint>;
  /** Whether the counters have a connection. */
  readonly isUp: () => boolean;
  /** While they have one: false if the counters are no longer at this server. */
  readonly isCurrent: (shown: string) => boolean;
  /** Whether a replica is rejected, because the source of the address may be wrong. */
  readonly mustBeMaster: boolean;
}

/** The server that has a key which is no counter: the one that would count it. */
export interface KeyServer extends CountingServer {
  /** A connection that counts there, for a short command beside the batches; null while all are down. */
  readonly link: () => RedisLink | null;
  /** Looks for the current server, because the one that was found failed or has refused the key. */
  readonly lookAgain: () => void;
}
