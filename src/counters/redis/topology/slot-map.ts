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

/** The address of a server. */
export interface NodeAddress {
  readonly host: string;
  readonly port: number;
}

/** The masters of a cluster and their hash slots. It can be sent to other threads. */
export interface SlotMap {
  /** Consecutive slots and their master. */
  readonly ranges: readonly { readonly first: number; readonly last: number; readonly node: NodeAddress }[];
}

/** Returns `host:port` of the master of each hash slot; undefined if no node has the slot. */
export function slotOwners({ ranges }: SlotMap): (string | undefined)[] {
  const owners = new Array<string | undefined>(HASH_SLOTS).fill(undefined);
  for (const { first, last, node } of ranges) owners.fill(hostPort(node.host, node.port), first, last + 1);
  return owners;
}

/**
 * Reads the reply to `CLUSTER SLOTS`: for each range, the first and the last slot and the nodes, beginning with the master.
 * @param asked the host that sent the reply; used for a node that does not know its own address
 * @throws Error if the reply has another form
 */
export function readClusterSlots(reply: unknown, asked: string): SlotMap {
  if (!Array.isArray(reply)) throw new Error('unexpected reply to CLUSTER SLOTS');
  const ranges = reply.flatMap(range => {
    const [first, last, master] = Array.isArray(range) ? range : [];
    if (!isSlot(first) || !isSlot(last) || !Array.isArray(master)) return [];
    return [{ first, last, node: { host: hostOr(master[0], asked), port: Number(master[1]) } }];
  });
  return { ranges };
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
