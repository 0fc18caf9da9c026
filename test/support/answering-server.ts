import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Teardown } from './stores.ts';

/**
 * What to do about a command, by its name in upper case and its words after that: bytes to answer, now or later,
 * nothing, or `close` the connection.
 */
export type Answer = (
  command: string,
  words: readonly string[],
) => string | 'close' | Promise<string> | undefined;

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
      for (const [command, ...words] of commandsOf(data.toString())) {
        const reply = answer(command.toUpperCase(), words);
        if (reply === 'close') socket.end();
        else if (reply instanceof Promise) reply.then(text => socket.write(text));
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

/** The words of each command in a chunk; the commands of the tests are too small to be split, and hold no line ends. */
function commandsOf(text: string): string[][] {
  return text
    .split(/^\*\d+\r\n/m)
    .slice(1)
    .map(command => [...command.matchAll(/\$\d+\r\n(.*)\r\n/g)].map(([, word]) => word));
}

/** What a test answers, in the protocol of Redis: null, numbers, texts, and arrays of these. */
export function reply(value: ReplyValue): string {
  if (value === null) return '$-1\r\n';
  if (typeof value === 'number') return `:${value}\r\n`;
  if (typeof value === 'string') return `$${Buffer.byteLength(value)}\r\n${value}\r\n`;
  return `*${value.length}\r\n${value.map(reply).join('')}`;
}

export type ReplyValue = null | number | string | readonly ReplyValue[];
