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
export async function withOwnedSockets<T>(use: () => Promise<T>): Promise<T> {
  const sockets: Socket[] = [];
  const scope = new AsyncLocalStorage<true>();
  const own = (message: unknown): void => {
    if (scope.getStore() === true) sockets.push((message as { readonly socket: Socket }).socket);
  };
  subscribe(CLIENT_SOCKETS, own);
  try {
    return await scope.run(true, use);
  } finally {
    unsubscribe(CLIENT_SOCKETS, own);
    for (const socket of sockets) socket.destroy();
  }
}
