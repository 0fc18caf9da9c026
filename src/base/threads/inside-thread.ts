import { getPriority, setPriority } from 'node:os';
import type { MessagePort } from 'node:worker_threads';

/** The one task of a thread of `LastingThreads`. The thread serves messages from the port until it receives `stop`. */
export interface LastingTask {
  readonly port: MessagePort;
}

/** The message that stops a thread. Every thread accepts it. */
export interface StopThread {
  readonly kind: 'stop';
}

/** The first message of every thread. */
export interface ThreadIsReady {
  readonly kind: 'ready';
}

/** Asks whether the event loop of a thread still turns. The thread sends the same message back. */
export interface Ping {
  readonly kind: 'ping';
}

export const PING: Ping = { kind: 'ping' };

/** In the thread: passes messages from the port to `heard`, answers pings, and reports that the thread is ready. */
export function acceptMessages<To>(port: MessagePort, heard: (message: To) => void): void {
  port.on('message', (message: To | Ping) => {
    if ((message as Ping).kind === 'ping') port.postMessage(PING);
    else heard(message as To);
  });
  port.postMessage({ kind: 'ready' } satisfies ThreadIsReady);
}

/**
 * Each step of niceness takes about a fifth of the CPU share that a thread gets while cores are scarce (sched(7)).
 * 5 leaves a third of the share of a thread that decides, so tasks go on while decisions use all cores.
 */
const TASKS_NICENESS = 5;
/** Not 19, which is the most: a reload under full load would take minutes then. */
const COMPILER_NICENESS = 10;

/** For threads that do the work of tasks: threads that decide go first while cores are scarce. */
export function runBehindDecisions(): void {
  beNice(TASKS_NICENESS);
}

/** For a thread whose work may take several times as long while cores are scarce. */
export function runLast(): void {
  beNice(COMPILER_NICENESS);
}

/**
 * Sets the niceness above that of the process, which an operator may have started with another one. A process without
 * privileges cannot lower a niceness, so a thread that is nicer stays so. A thread that may not change its niceness, as
 * in some sandboxes, works as well.
 */
function beNice(above: number): void {
  // Elsewhere a priority is that of the whole process. On Linux 0 means the calling thread.
  if (process.platform !== 'linux') return;
  try {
    const niceness = Math.min(19, getPriority(process.pid) + above);
    if (niceness > getPriority(0)) setPriority(0, niceness);
  } catch (failure) {
    const { code } = failure as NodeJS.ErrnoException;
    if (code !== 'ERR_SYSTEM_ERROR') throw failure;
  }
}

/** Returns a function that says which share of the time, 0 to 1, this thread's event loop was busy since the last call. */
export function busyShare(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}
