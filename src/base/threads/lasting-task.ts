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
