import { getPriority, setPriority } from 'node:os';
import { performance } from 'node:perf_hooks';
import type { MessagePort } from 'node:worker_threads';
import type { LogLevel } from '../logger.ts';

/** The one task of a thread of `LastingThreads`. The thread serves messages from the port until it receives `stop`. */
export interface LastingTask {
  readonly port: MessagePort;
  /** Log levels that the process writes. */
  readonly logLevels: readonly LogLevel[];
}

/** The message that stops a thread. Every thread accepts it. */
export interface StopThread {
  readonly kind: 'stop';
}

/** The first message of every thread. */
export interface ThreadIsReady {
  readonly kind: 'ready';
}

/** Checks whether the event loop of a thread is blocked. The thread sends the same message back. */
export interface Ping {
  readonly kind: 'ping';
}

export const PING: Ping = { kind: 'ping' };

/** In the thread: passes messages from the port to `heard`, answers pings, and reports that the thread is ready. */
export function acceptMessages<To>(port: MessagePort, heard: (message: To) => void): void {
  hearMessages(port, heard);
  reportReady(port);
}

/** In a thread that has to hear messages before it is ready: passes them to `heard`, and answers pings. */
export function hearMessages<To>(port: MessagePort, heard: (message: To) => void): void {
  port.on('message', (message: To | Ping) => {
    if ((message as Ping).kind === 'ping') port.postMessage(PING);
    else heard(message as To);
  });
}

/** In the thread: reports that the thread is ready. */
export function reportReady(port: MessagePort): void {
  port.postMessage({ kind: 'ready' } satisfies ThreadIsReady);
}

/**
 * Each step of niceness reduces the CPU share of a thread by about a fifth while the CPU is saturated (sched(7)). At 5,
 * a thread gets a third of the share of a decision thread, so tasks make progress even if decisions use all cores.
 */
const TASKS_NICENESS = 5;
/** At the maximum of 19, a reload under full load would take minutes. */
const COMPILER_NICENESS = 10;

/** Call in threads of the task service, so that decision threads take precedence while the CPU is saturated. */
export function runBehindDecisions(): void {
  beNice(TASKS_NICENESS);
}

/** Call in a thread whose work may take several times as long while the CPU is saturated. */
export function runLast(): void {
  beNice(COMPILER_NICENESS);
}

/**
 * Sets the niceness of this thread relative to that of the process, which an operator may have changed. A process
 * without privileges cannot lower a niceness, so a thread that is already nicer is left unchanged. Some sandboxes do
 * not allow any change, which is ignored.
 */
function beNice(above: number): void {
  // On Linux, 0 means the calling thread. Other systems would change the priority of the whole process.
  if (process.platform !== 'linux') return;
  try {
    const niceness = Math.min(19, getPriority(process.pid) + above);
    if (niceness > getPriority(0)) setPriority(0, niceness);
  } catch (failure) {
    const { code } = failure as NodeJS.ErrnoException;
    if (code !== 'ERR_SYSTEM_ERROR') throw failure;
  }
}

/**
 * Returns a function that returns the share of time, 0 to 1, that this thread's event loop was busy since its last
 * call.
 */
export function busyShare(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}
