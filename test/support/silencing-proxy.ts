import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Teardown } from './stores.ts';

/** A proxy in front of a server on loopback, whose connections can fall silent without being closed. */
export interface SilencingProxy {
  readonly address: string;
  /** Passes nothing on any more on the connections that exist. New ones work. */
  silence(): void;
  /** The same, but the server still receives what callers send. */
  dropReplies(): void;
  /** True if a command other than PING was sent on a silent connection, and no connection was opened since. */
  readonly isMissed: boolean;
}

/** Starts a proxy in front of the server at this port. It ends with the test. */
export async function silencingProxy(t: Teardown, port: number): Promise<SilencingProxy> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let isMissed = false;
  const drop = (from: Socket, to: Socket): void => {
    from.unpipe(to);
    from.on('data', data => {
      isMissed ||= !data.includes('PING');
    });
    from.resume();
  };
  const server = createServer(caller => {
    const pair = [caller, connect(port, '127.0.0.1')] as const;
    const [, inner] = pair;
    pairs.add(pair);
    isMissed = false;
    caller.pipe(inner).pipe(caller);
    for (const socket of pair) {
      socket.on('error', () => {});
      socket.on('close', () => {
        for (const each of pair) each.destroy();
        pairs.delete(pair);
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const pair of pairs) for (const socket of pair) socket.destroy();
    server.close();
  });
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    get isMissed() {
      return isMissed;
    },
    silence: () => {
      for (const [caller, inner] of pairs) {
        drop(caller, inner);
        drop(inner, caller);
      }
    },
    dropReplies: () => {
      for (const [caller, inner] of pairs) drop(inner, caller);
    },
  };
}
