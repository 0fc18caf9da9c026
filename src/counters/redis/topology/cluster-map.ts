import { hostPort } from '../../../clients/redis/address.ts';

/** Hash slots of a cluster: CRC-16 (XMODEM) of a key, or of the part between its first `{` and the next `}`. */
const HASH_SLOTS = 16_384;

const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021;
  return crc & 0xffff;
});

const OPEN = 123;
const CLOSE = 125;

/** The hash slot of the key `bytes[start, end)`. */
export function hashSlot(bytes: Uint8Array, start: number, end: number): number {
  const open = indexOf(bytes, OPEN, start, end);
  if (open >= 0) {
    const close = indexOf(bytes, CLOSE, open + 1, end);
    if (close > open + 1) return crc16(bytes, open + 1, close);
  }
  return crc16(bytes, start, end);
}

function crc16(bytes: Uint8Array, start: number, end: number): number {
  let crc = 0;
  for (let i = start; i < end; i++) crc = ((crc << 8) & 0xffff) ^ TABLE[(crc >> 8) ^ bytes[i]];
  return crc & (HASH_SLOTS - 1);
}

function indexOf(bytes: Uint8Array, byte: number, start: number, end: number): number {
  for (let i = start; i < end; i++) if (bytes[i] === byte) return i;
  return -1;
}

/** The address of a cluster node. */
export interface NodeAddress {
  readonly host: string;
  readonly port: number;
}

/** Assigns hash slots to nodes. */
export interface ClusterMap {
  /** Masters by `host:port`. */
  readonly nodes: ReadonlyMap<string, NodeAddress>;
  /** By hash slot: `host:port` of its master; undefined if no node has it. */
  readonly owners: readonly (string | undefined)[];
}

/**
 * Reads the reply to `CLUSTER SLOTS`: for each range, the first and the last slot and the nodes, beginning with the master.
 * @param asked the host that sent the reply; used for a node that does not know its own address
 * @throws Error if the reply has another form
 */
export function readClusterSlots(reply: unknown, asked: string): ClusterMap {
  const nodes = new Map<string, NodeAddress>();
  const owners = new Array<string | undefined>(HASH_SLOTS).fill(undefined);
  if (!Array.isArray(reply)) throw new Error('unexpected reply to CLUSTER SLOTS');
  for (const range of reply) {
    const [first, last, master] = Array.isArray(range) ? range : [];
    if (!isSlot(first) || !isSlot(last) || !Array.isArray(master)) continue;
    const node = { host: hostOr(master[0], asked), port: Number(master[1]) };
    const name = hostPort(node.host, node.port);
    nodes.set(name, node);
    owners.fill(name, first, last + 1);
  }
  return { nodes, owners };
}

/** The location of a key, from an error such as `MOVED 3999 127.0.0.1:6381` or `ASK 3999 127.0.0.1:6381`. */
export interface Redirect {
  /** True for ASK: the slot is being migrated. Applies to one command, which must follow ASKING. */
  readonly asking: boolean;
  readonly node: NodeAddress;
}

/** @param asked the host that sent the error; used if the error has no host */
export function readRedirect(error: string, asked: string): Redirect | null {
  const match = /^(MOVED|ASK) [0-9]+ (\S*):([0-9]{1,5})$/.exec(error);
  if (match === null) return null;
  const [, kind, host, port] = match;
  return { asking: kind === 'ASK', node: { host: hostOr(host, asked), port: Number(port) } };
}

function hostOr(host: unknown, asked: string): string {
  return typeof host === 'string' && host !== '' && host !== '?' ? host : asked;
}

function isSlot(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value < HASH_SLOTS;
}
