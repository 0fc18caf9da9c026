import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** A loopback port that only listeners which share it can open. */
export interface SharedPort {
  readonly port: number;
  /** Lets go of the port. Until then part of the connections to it come here and are closed. */
  release(): Promise<void>;
}

/**
 * Finds a free loopback port and holds it while those that are to share it start: unlike a port that was free a moment
 * ago, nobody else can take it meanwhile. Whoever shares must do so in the name of the same user.
 */
export async function holdSharedPort(): Promise<SharedPort> {
  const holder = createServer(socket => socket.destroy());
  holder.listen({ host: '127.0.0.1', port: 0, reusePort: true });
  await once(holder, 'listening');
  const { port } = holder.address() as AddressInfo;
  return {
    port,
    async release() {
      holder.close();
      await once(holder, 'close');
    },
  };
}
