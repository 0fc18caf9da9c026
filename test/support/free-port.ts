import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** The ports given away by this process: the kernel may choose one again as soon as its probe is closed. */
const given = new Set<number>();

/**
 * A loopback port that was free a moment ago, and never the same twice. Another process may take it before it is used,
 * so this is only for servers that cannot be told to choose one themselves (port 0), and their caller retries.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const probe = createServer();
    probe.listen(0, '127.0.0.1');
    await once(probe, 'listening');
    const { port } = probe.address() as AddressInfo;
    probe.close();
    await once(probe, 'close');
    if (!given.has(port)) {
      given.add(port);
      return port;
    }
  }
}
