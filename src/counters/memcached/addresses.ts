import type { NodeTarget } from './connection.ts';

/** A node as the settings or a DNS record name it. */
export interface NodeAddress {
  /** `host:port`, or the path of a unix socket; names the node in log lines, and orders the nodes of a record. */
  readonly shown: string;
  readonly target: NodeTarget;
}

/** A service in DNS: its targets. As `resolveSrv` of `node:dns` gives them. */
export type LookUpService = (
  name: string,
) => Promise<readonly { readonly name: string; readonly port: number }[]>;

/** Where the nodes are: a list that stays, or a DNS record that is asked again every `refreshMs` (0: never). */
export type NodeSource =
  | { readonly addresses: readonly NodeAddress[] }
  | { readonly record: string; readonly refreshMs: number; readonly lookUp: LookUpService };

/**
 * The nodes of a DNS record, in the order of their text: every instance that asks must come to the same order.
 * @throws Error with the reason when it cannot be asked or names nobody
 */
export async function nodesOfRecord(record: string, lookUp: LookUpService): Promise<NodeAddress[]> {
  const targets = await lookUp(record);
  if (targets.length === 0) throw new Error('it has no targets');
  const addresses = targets.map(({ name, port }) => ({
    shown: `${name}:${port}`,
    target: { host: name, port },
  }));
  return addresses.sort((a, b) => (a.shown < b.shown ? -1 : 1));
}
