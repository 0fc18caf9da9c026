import type { FileHandle } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { LEASE } from '../leases/lease.ts';
import { LONGEST_NAME } from '../leases/op-leases.ts';
import type { CellPrint } from './cell.ts';
import type { LeaseBook } from './lease-book.ts';
import { BLOCK_HEAD_BYTES, HEADER_BYTES, readAt, SnapshotFault } from './snapshot-format.ts';

/**
 * The leases in a snapshot: blocks with a number of bytes, their checksum, and the bytes of leases. A block without bytes is
 * the last one.
 *
 *     lease    three words of the fingerprint of the key, three of the name of the holder, state, length of the name in
 *              bytes; hits, end in milliseconds and end of the window in seconds as doubles; the name
 */
const LEASE_HEAD_BYTES = 56;

/** Number of leases to copy while the book is locked, which takes some tens of microseconds. */
const LEASES_A_TURN = 256;

const MOST_BLOCK_BYTES = LEASES_A_TURN * (LEASE_HEAD_BYTES + LONGEST_NAME);

const STATES: readonly number[] = [LEASE.live, LEASE.settled, LEASE.expired];

/** Writes all leases. Those that change meanwhile may be as they were before or after. */
export async function writeLeases(file: FileHandle, book: LeaseBook): Promise<void> {
  const block = Buffer.alloc(BLOCK_HEAD_BYTES + MOST_BLOCK_BYTES);
  for (let place = 0; ; place += LEASES_A_TURN) {
    book.lock();
    const length = copyLeases(book, place, block);
    const isLast = place + LEASES_A_TURN >= book.places;
    book.unlock();
    if (length > 0) await file.writeFile(ended(block, length));
    if (isLast) break;
    await nextTurn();
  }
  await file.writeFile(ended(block, 0));
}

/** Copies the leases of some places into a block, after its head. Returns the number of bytes. */
function copyLeases(book: LeaseBook, first: number, block: Buffer): number {
  let at = BLOCK_HEAD_BYTES;
  for (let lease = first; lease < Math.min(first + LEASES_A_TURN, book.places); lease++) {
    const state = book.state(lease);
    if (state === LEASE.none) continue;
    const key = book.printOf(book.accountOf(lease));
    const holder = book.holderPrint(lease);
    const name = book.nameOf(lease);
    for (const word of [key.a, key.b, key.c, holder.a, holder.b, holder.c, state, name.length])
      at = block.writeInt32LE(word, at);
    for (const number of [book.hits(lease), book.endMs(lease), book.windowOf(lease)])
      at = block.writeDoubleLE(number, at);
    block.set(name, at);
    at += name.length;
  }
  return at - BLOCK_HEAD_BYTES;
}

function ended(block: Buffer, length: number): Buffer {
  const bytes = block.subarray(0, BLOCK_HEAD_BYTES + length);
  bytes.writeUInt32LE(length, 0);
  bytes.writeUInt32LE(crc32(bytes.subarray(BLOCK_HEAD_BYTES)), 4);
  return bytes;
}

/** A block of leases, and where the next one begins, or the counters after the last one. */
interface LeaseBlock {
  readonly bytes: Buffer;
  readonly end: number;
}

/** The blocks of a snapshot that has leases. @throws SnapshotFault if a block is damaged or the end is missing */
export async function* leaseBlocksOf(file: FileHandle): AsyncGenerator<LeaseBlock> {
  for (let at = HEADER_BYTES; ; ) {
    const head = await readAt(file, at, BLOCK_HEAD_BYTES);
    if (head.length < BLOCK_HEAD_BYTES) throw new SnapshotFault('its end is missing');
    const length = head.readUInt32LE(0);
    if (length > MOST_BLOCK_BYTES) throw new SnapshotFault(`it is damaged at byte ${at}`);
    const bytes = await readAt(file, at + BLOCK_HEAD_BYTES, length);
    if (bytes.length < length) throw new SnapshotFault('its end is missing');
    if (crc32(bytes) !== head.readUInt32LE(4)) throw new SnapshotFault(`it is damaged at byte ${at}`);
    at += BLOCK_HEAD_BYTES + length;
    yield { bytes, end: at };
    if (length === 0) return;
    await nextTurn();
  }
}

/**
 * Adds the leases of a block to a book, except those of holders that it knows already, and those that do not matter any
 * more. Afterwards, {@link sortLeases} must bring them in order.
 */
export function putLeases(bytes: Buffer, book: LeaseBook, nowMs: number): void {
  book.lock();
  for (let at = 0; at < bytes.length; ) {
    const [state, nameLength] = [bytes.readInt32LE(at + 24), bytes.readInt32LE(at + 28)];
    const [hits, endMs, windowEndS] = [32, 40, 48].map(field => bytes.readDoubleLE(at + field));
    const name = bytes.subarray(at + LEASE_HEAD_BYTES, at + LEASE_HEAD_BYTES + nameLength);
    // A live lease that has ended meanwhile is found to have expired when its key is used.
    if (STATES.includes(state) && (state === LEASE.live || endMs > nowMs))
      putLease(book, { key: printAt(bytes, at), holder: printAt(bytes, at + 12), name }, state, {
        hits,
        endMs,
        windowEndS,
      });
    at += LEASE_HEAD_BYTES + nameLength;
  }
  book.unlock();
}

function printAt(bytes: Buffer, at: number): CellPrint {
  return { a: bytes.readInt32LE(at), b: bytes.readInt32LE(at + 4), c: bytes.readInt32LE(at + 8) };
}

function putLease(
  book: LeaseBook,
  { key, holder, name }: { readonly key: CellPrint; readonly holder: CellPrint; readonly name: Uint8Array },
  state: number,
  numbers: Readonly<Record<'hits' | 'endMs' | 'windowEndS', number>>,
): void {
  const known = book.account(key);
  const account = known < 0 ? book.openAccount(key) : known;
  if (account < 0 || book.find(account, holder) >= 0) return;
  const lease = book.add(account, holder, name);
  if (lease < 0) {
    book.closeIfEmpty(account);
    return;
  }
  book.set(lease, numbers);
  book.moveTo(lease, state);
  if (state !== LEASE.live) return;
  const { hits, windowEndS } = numbers;
  const ofAccountS = book.windowEndS(account);
  if (windowEndS === ofAccountS) book.setHeld(account, book.held(account) + hits, windowEndS);
  else if (windowEndS > ofAccountS) book.setHeld(account, hits, windowEndS);
}

/** Brings the leases of all keys in the order in which they end. A snapshot has them in the order of their places. */
export function sortLeases(book: LeaseBook): void {
  book.lock();
  const seen = new Set<number>();
  for (let lease = 0; lease < book.places; lease++) {
    if (book.state(lease) === LEASE.none || seen.has(book.accountOf(lease))) continue;
    seen.add(book.accountOf(lease));
    for (const state of STATES) sortList(book, book.accountOf(lease), state);
  }
  book.unlock();
}

function sortList(book: LeaseBook, account: number, state: number): void {
  const leases: number[] = [];
  for (let lease = book.first(account, state); lease >= 0; lease = book.after(lease)) leases.push(lease);
  leases.sort((a, b) => book.endMs(a) - book.endMs(b));
  for (const lease of leases) book.moveTo(lease, state);
}
