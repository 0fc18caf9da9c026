import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

/** The diagnostics channel on which Node.js publishes every new client socket. */
const CLIENT_SOCKETS = 'net.client.socket';

/**
 * Runs `use`, then destroys the client sockets that it opened. This is for libraries that do not expose their sockets:
 * when a client of `@grpc/grpc-js` is closed, the library leaves connection attempts in progress, and an attempt to a
 * host that never answers would keep the process alive for minutes.
 */
export function withOwnedSockets<T>(use: () => Promise<T>): Promise<T> {
  return owning(use, () => true);
}

/**
 * Runs `use`, which opens a connection that is kept. If it succeeds, only the connection attempts that are still in
 * progress are destroyed; if it fails, all sockets are.
 */
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
    // An enabled AsyncLocalStorage slows down every promise of the process.
    scope.disable();
    for (const socket of sockets) if (ends(socket, done)) socket.destroy();
  }
}
