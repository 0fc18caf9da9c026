import { closeSync, openSync, readSync } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { OWNER_ONLY } from '../../base/files/owner-only.ts';
import type { FingerprintKey } from '../fingerprint.ts';
import { mergeCounter } from './cell-states.ts';
import { type CounterTable, REGION_CELLS } from './counter-table.ts';
import {
  BLOCK_COUNTERS,
  BLOCK_HEAD_BYTES,
  BlockWriter,
  counterBytes,
  END_BYTES,
  HEADER_BYTES,
  readAt,
  readHeader,
  SnapshotFault,
  type SnapshotHeader,
  writeEnd,
  writeHeader,
} from './snapshot-format.ts';
import { leaseBlocksOf, putLeases, sortLeases, writeLeases } from './snapshot-leases.ts';

/** Number of regions to copy per turn of the event loop, which takes tens of microseconds. */
const REGIONS_A_TURN = 8;

/** The key of the fingerprints in a snapshot; null if there is no readable snapshot. */
export function readSnapshotKey(path: string): FingerprintKey | null {
  const header = Buffer.alloc(HEADER_BYTES);
  try {
    const file = openSync(path, 'r');
    try {
      return readHeader(header.subarray(0, readSync(file, header))).fingerprintKey;
    } finally {
      closeSync(file);
    }
  } catch {
    // `loadSnapshot` reports the reason.
    return null;
  }
}

/**
 * Writes all live counters, a few regions at a time, between decisions. The file is replaced atomically and durably: at
 * any time, also after a crash of the machine, `path` is the complete old or the complete new file.
 * @returns the number of counters
 * @throws Error if the file cannot be written; the old file is unchanged
 */
export async function saveSnapshot(
  path: string,
  table: CounterTable,
  { writtenMs, fingerprintKey }: Omit<SnapshotHeader, 'hasExtras' | 'hasLeases'>,
): Promise<number> {
  const hasLeases = table.leases.count > 0;
  const hasExtras = table.hasExtras || hasLeases;
  const temporary = `${path}.tmp`;
  await rm(temporary, { force: true });
  // Other users must not read the key of the fingerprints.
  const file = await open(temporary, 'wx', OWNER_ONLY);
  let total: number;
  try {
    try {
      await file.chmod(OWNER_ONLY);
      await file.writeFile(writeHeader({ writtenMs, fingerprintKey, hasExtras, hasLeases }));
      if (hasLeases) await writeLeases(file, table.leases);
      total = await writeCounters(file, table, { nowS: Math.floor(writtenMs / 1_000), hasExtras });
      await file.writeFile(writeEnd(total));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (failure) {
    await rm(temporary, { force: true });
    throw failure;
  }
  await syncDirectory(dirname(path));
  return total;
}

async function writeCounters(
  file: FileHandle,
  table: CounterTable,
  { nowS, hasExtras }: { readonly nowS: number; readonly hasExtras: boolean },
): Promise<number> {
  const block = new BlockWriter(hasExtras);
  let total = 0;
  for (let region = 0; region < table.regionCount; region++) {
    if (block.room < REGION_CELLS) await file.writeFile(block.take());
    else if (region % REGIONS_A_TURN === 0) await nextTurn();
    table.lock(region);
    table.eachLive(region, nowS, (print, counter) => {
      // A counter of another kind than the file can hold is newer than the snapshot.
      if (counter.extra !== 0 && !hasExtras) return;
      block.add(print, counter);
      total++;
    });
    table.unlock(region);
  }
  await file.writeFile(block.take());
  return total;
}

/** The result of loading a snapshot. */
interface LoadedSnapshot {
  readonly counters: number;
  /** Number of counters that had expired. */
  readonly expired: number;
  readonly writtenMs: number;
}

/**
 * Checks a snapshot completely, then adds its counters to a table.
 * @returns null if there is no file
 * @throws SnapshotFault if the file is damaged or has another fingerprint key; Error if it cannot be read. The table is
 *   unchanged then
 */
export async function loadSnapshot(
  path: string,
  table: CounterTable,
  { fingerprintKey, nowMs }: { readonly fingerprintKey: FingerprintKey; readonly nowMs: number },
): Promise<LoadedSnapshot | null> {
  const file = await openExisting(path);
  if (file === null) return null;
  try {
    const { header, countersAt } = await check(file);
    if (header.fingerprintKey.join() !== fingerprintKey.join()) {
      throw new SnapshotFault('it was replaced by another snapshot while it was read');
    }
    let counters = 0;
    let expired = 0;
    if (header.hasLeases) {
      for await (const block of leaseBlocksOf(file)) putLeases(block.bytes, table.leases, nowMs);
      sortLeases(table.leases);
    }
    for await (const block of blocksOf(file, { ...header, at: countersAt })) {
      const alive = putAll(block, table, { nowMs, hasExtras: header.hasExtras });
      counters += alive;
      expired += block.length / counterBytes(header.hasExtras) - alive;
      await nextTurn();
    }
    return { counters, expired, writtenMs: header.writtenMs };
  } finally {
    await file.close();
  }
}

/** Adds the live counters of a block to the table, and returns their number. */
function putAll(
  block: Buffer,
  table: CounterTable,
  { nowMs, hasExtras }: { readonly nowMs: number; readonly hasExtras: boolean },
): number {
  const nowS = Math.floor(nowMs / 1_000);
  let alive = 0;
  for (let at = 0; at < block.length; at += counterBytes(hasExtras)) {
    const expiryS = block.readUInt32LE(at + 12);
    if (expiryS <= nowS) continue;
    alive++;
    const print = { a: block.readInt32LE(at), b: block.readInt32LE(at + 4), c: block.readInt32LE(at + 8) };
    const count = block.readDoubleLE(at + 16);
    const extra = hasExtras ? block.readDoubleLE(at + 24) : 0;
    const region = table.regionOf(print.a);
    table.lock(region);
    mergeCounter(table, print, { expiryS, count, extra }, nowMs);
    table.unlock(region);
  }
  return alive;
}

/** Checks all of a file. Returns its header, and where its counters begin. */
async function check(
  file: FileHandle,
): Promise<{ readonly header: SnapshotHeader; readonly countersAt: number }> {
  const header = readHeader(await readAt(file, 0, HEADER_BYTES));
  let countersAt = HEADER_BYTES;
  if (header.hasLeases) {
    for await (const { end } of leaseBlocksOf(file)) countersAt = end;
  }
  for await (const _block of blocksOf(file, { ...header, at: countersAt })) await nextTurn();
  return { header, countersAt };
}

/**
 * The counters of each block.
 * @throws SnapshotFault if a block is damaged or the end is missing
 */
async function* blocksOf(
  file: FileHandle,
  { hasExtras, at: start }: SnapshotHeader & { readonly at: number },
): AsyncGenerator<Buffer> {
  let at = start;
  let total = 0;
  for (;;) {
    const head = await readAt(file, at, END_BYTES);
    if (head.length < END_BYTES) throw new SnapshotFault('its end is missing');
    const count = head.readUInt32LE(0);
    const checksum = head.readUInt32LE(4);
    if (count === 0) {
      await checkEnd(file, { end: head, at, total });
      return;
    }
    if (count > BLOCK_COUNTERS) throw new SnapshotFault(`it is damaged at byte ${at}`);
    const bytes = count * counterBytes(hasExtras);
    const block = await readAt(file, at + BLOCK_HEAD_BYTES, bytes);
    if (block.length < bytes) throw new SnapshotFault('its end is missing');
    if (crc32(block) !== checksum) throw new SnapshotFault(`it is damaged at byte ${at}`);
    yield block;
    at += BLOCK_HEAD_BYTES + block.length;
    total += count;
  }
}

async function checkEnd(
  file: FileHandle,
  { end, at, total }: { readonly end: Buffer; readonly at: number; readonly total: number },
): Promise<void> {
  const isDamaged = !end.equals(writeEnd(total));
  if (isDamaged) throw new SnapshotFault(`it is damaged at byte ${at}`);
  if ((await readAt(file, at + END_BYTES, 1)).length > 0)
    throw new SnapshotFault('it has data after its end');
}

async function openExisting(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, 'r');
  } catch (failure) {
    if (failure instanceof Error && 'code' in failure && failure.code === 'ENOENT') return null;
    throw failure;
  }
}

/** Without this, the rename may be lost in a crash of the machine. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
