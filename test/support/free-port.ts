import { once } from 'node:events';
import { createServer } from 'node:net';

/** Systems give ports from here on to connections and to listeners that ask for any port (Linux: from 32768 on). */
const FIRST_GIVEN_BY_SYSTEM = 32_768;
const FIRST = 20_000;

/** The ports given away by this process. */
const given = new Set<number>();

/**
 * A loopback port that was free a moment ago, and never the same twice. It is one that the system gives to nobody by itself,
 * so only another test can take it before it is used. For servers that cannot be told to choose one themselves (port 0).
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (FIRST_GIVEN_BY_SYSTEM - FIRST));
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  try {
    probe.listen(port, '127.0.0.1');
    await once(probe, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    if (probe.listening) {
      probe.close();
      await once(probe, 'close');
    }
  }
}
