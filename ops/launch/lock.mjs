import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { note, root } from './step.mjs';

// Node.js has no lock of the operating system that ends with its process, so the file names its holders.
const FILE = join(root, 'build/.bootstrap.lock');
/** Held only while a lock whose holders have ended is removed, so that it is not removed twice. */
const TAKEOVER = `${FILE}.takeover`;

/** How often a process that waits looks again. */
const LOOK_MS = 100;

/** A file that is still empty or cut off after this time was left by a process that was killed while it wrote. */
const WRITTEN_WITHIN_MS = 5_000;

/** The processes that hold the lock together; empty while this process does not hold it. */
let holders = [];

/**
 * Does `work` while no other process works on this clone. Waits for one that does; a lock whose holders have all
 * ended, however they ended, is taken over.
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

/** Keeps the lock until the process `pid` has ended as well: it goes on when this process is killed. */
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

/** The id of a process that holds the lock, or `(unknown)` while that is not written yet; null when none does. */
function livingHolder(text) {
  let named;
  try {
    named = JSON.parse(text);
  } catch {
    return ageMs(FILE) > WRITTEN_WITHIN_MS ? null : '(unknown)';
  }
  return named.find(({ pid, started }) => isRunning(pid) && identityOf(pid).started === started)?.pid ?? null;
}

/** A process id is given again to another process, which has another start time. Only Linux tells that. */
function identityOf(pid) {
  const [, started] = linuxStatus(pid);
  return { pid, started };
}

function isRunning(pid) {
  // It has ended, and its parent has not noticed yet or never will.
  if (linuxStatus(pid)[0] === 'Z') return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (failure) {
    return failure.code === 'EPERM';
  }
}

/** State and start time of a process; empty where there is no such process, and elsewhere than on Linux. */
function linuxStatus(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Fields are counted from behind the name, which may hold anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return [fields[0], fields[19]];
  } catch {
    return [];
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

/** Infinity for a file that is gone. */
function ageMs(path) {
  return Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? -Infinity);
}
