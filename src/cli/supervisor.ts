/** Who started this process and listens on its IPC channel, as PM2 and `node:cluster` do. */
export interface Supervisor {
  /** The ports are open: processes that this one replaces may end now (PM2, `wait_ready`). */
  ready(): void;
  /** Lets go of the channel, which would keep a process alive that has nothing left to do. */
  leave(): void;
}

/** The one of this process; undefined when nobody listens. */
export function processSupervisor(): Supervisor | undefined {
  if (process.send === undefined) return undefined;
  return {
    ready: () => process.send?.('ready'),
    leave: () => {
      if (process.connected) process.disconnect();
    },
  };
}
