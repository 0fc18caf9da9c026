import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

/** The channel on which Node.js announces every client socket that is made. */
const CLIENT_SOCKETS = 'net.client.socket';

/**
 * Runs `use`, then destroys the client sockets that were opened on its behalf. For libraries that keep them to
 * themselves: `@grpc/grpc-js` closes connections with their client, but not those that still are being made, and
 * one to a host that never answers would keep the process alive for minutes.
 */
export function withOwnedSockets<T>(use: () => Promise<T>): Promise<T> {
  return owning(use, () => true);
}

/** The same for the making of a connection that is to stay: when it was made, only further attempts at it end. */
export function withOwnedAttempts<T>(use: () => Promise<T>): Promise<T> {
  return owning(use, (socket, made) => !made || socket.connecting);
}

async function owning<T>(
  use: () => Promise<T>,
  ends: (socket: Socket, done: boolean) => boolean,
): Promise<T> {
  const sockets: Socket[] = [];
  const scope = new AsyncLocalStorage<true>();
  const own = (message: unknown): void => {
    if (scope.getStore() === true) sockets.push((message as { readonly socket: Socket }).socket);
  };
  let done = false;
  subscribe(CLIENT_SOCKETS, own);
  try {
    const result = await scope.run(true, use);
    done = true;
    return result;
  } finally {
    unsubscribe(CLIENT_SOCKETS, own);
    // A scope in use makes every promise of the process dearer.
    scope.disable();
    for (const socket of sockets) if (ends(socket, done)) socket.destroy();
  }
}
