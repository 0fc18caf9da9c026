/** Who started this process and listens on its IPC channel, as PM2 and `node:cluster` do. */
export interface Supervisor {
  /** The ports are open: processes that this one replaces may end now (PM2, `wait_ready`). */
  ready(): void;
  /** Lets go of the channel, which would keep a process alive that has nothing left to do. */
  leave(): void;
}

/** A process as its supervisor has it; `send` is there when it was started with a channel. */
export interface Supervised {
  readonly connected: boolean;
  send?(message: unknown, done: (failure: Error | null) => void): boolean;
  disconnect(): void;
}

/** The one of this process; undefined when nobody listens. */
export function processSupervisor(supervised: Supervised = process): Supervisor | undefined {
  if (supervised.send === undefined) return undefined;
  return {
    // It may have ended meanwhile. Without a callback that would be an exception that nobody catches.
    ready: () => void supervised.send?.('ready', () => {}),
    leave: () => {
      if (supervised.connected) supervised.disconnect();
    },
  };
}
