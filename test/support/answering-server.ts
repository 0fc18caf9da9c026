import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Teardown } from './stores.ts';

/** What to do about a command, by its name in upper case: bytes to answer, nothing, or `close` the connection. */
export type Answer = (command: string) => string | 'close' | undefined;

/**
 * A server that reads commands as Redis does and answers them as the test says: for what a real Redis never does.
 * It ends with the test.
 */
export async function answeringServer(t: Teardown, answer: Answer): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer(socket => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    socket.on('data', data => {
      for (const command of commandNames(data.toString())) {
        const reply = answer(command);
        if (reply === 'close') socket.end();
        else if (reply !== undefined) socket.write(reply);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The first words of the commands in a chunk; the commands of the tests are too small to be split. */
function commandNames(text: string): string[] {
  return [...text.matchAll(/\*\d+\r\n\$\d+\r\n(\w+)\r\n/g)].map(([, name]) => name.toUpperCase());
}
