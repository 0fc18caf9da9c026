import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { linuxStat } from './linux-stat.mjs';
import { note, root } from './step.mjs';

// Node.js does not offer file locks that the operating system releases with the process, so the file lists its holders.
const FILE = join(root, 'build/.bootstrap.lock');
/** Lock that is held while a stale lock is removed, so that it is not removed twice. */
const TAKEOVER = `${FILE}.takeover`;

/** How often a waiting process checks the lock. */
const LOOK_MS = 100;

/**
 * A lock file that is still incomplete after this time was left by a process that was killed while it wrote the file.
 */
const WRITTEN_WITHIN_MS = 5_000;

/** The processes that hold the lock together; empty while this process does not hold it. */
let holders = [];

/**
 * Runs `work` while this process holds the lock of this clone. Waits if another process holds it. A lock whose holders
 * have all ended is taken over.
 */
export async function locked(work) {
  mkdirSync(dirname(FILE), { recursive: true });
  await acquire();
  process.once('exit', release);
  try {
    return await work();
  } finally {
    process.off('exit', release);
    release();
  }
}

/** Adds the process `pid` to the holders of the lock, because it continues if this process is killed. */
export function holdWhileRunning(pid) {
  if (holders.length === 0) return;
  holders = [...holders, identityOf(pid)];
  const written = `${FILE}.${process.pid}`;
  writeFileSync(written, JSON.stringify(holders));
  renameSync(written, FILE);
}

async function acquire() {
  const self = identityOf(process.pid);
  for (let isFirst = true; !create(FILE, JSON.stringify([self])); isFirst = false) {
    const text = read();
    const alive = livingHolder(text);
    if (alive === null) takeOver(text);
    else {
      if (isFirst) note(`waiting for process ${alive}, which installs or builds in this directory`);
      await new Promise(resolve => setTimeout(resolve, LOOK_MS));
    }
  }
  holders = [self];
}

function release() {
  if (holders.length === 0) return;
  holders = [];
  rmSync(FILE, { force: true });
}

function takeOver(text) {
  if (!create(TAKEOVER, '')) {
    if (ageMs(TAKEOVER) > WRITTEN_WITHIN_MS) rmSync(TAKEOVER, { force: true });
    return;
  }
  try {
    if (read() === text) rmSync(FILE, { force: true });
  } finally {
    rmSync(TAKEOVER, { force: true });
  }
}

/**
 * Returns the id of a process that holds the lock, `(unknown)` if it is not written yet, or null if the lock is free.
 */
function livingHolder(text) {
  let named;
  try {
    named = JSON.parse(text);
  } catch {
    return ageMs(FILE) > WRITTEN_WITHIN_MS ? null : '(unknown)';
  }
  return named.find(({ pid, started }) => isRunning(pid) && identityOf(pid).started === started)?.pid ?? null;
}

/** Process ids are reused, so the start time of the process is compared too. It is only available on Linux. */
function identityOf(pid) {
  const started = linuxStat(pid)[19];
  return { pid, started };
}

function isRunning(pid) {
  // A zombie has ended, but its parent has not waited for it.
  if (linuxStat(pid)[0] === 'Z') return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (failure) {
    return failure.code === 'EPERM';
  }
}

function create(path, text) {
  try {
    writeFileSync(path, text, { flag: 'wx' });
    return true;
  } catch (failure) {
    if (failure.code === 'EEXIST') return false;
    throw failure;
  }
}

function read() {
  try {
    return readFileSync(FILE, 'utf8');
  } catch {
    return '';
  }
}

/** Returns the age of the file in milliseconds; Infinity if it does not exist. */
function ageMs(path) {
  return Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? -Infinity);
}
