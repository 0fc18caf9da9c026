import type { Test } from 'tap';
import { heldMemory } from '../../support/memory.ts';
import { connectionsDownTo, type OwnServed, type OwnServing, serveOwn } from '../../support/own-server.ts';
import { WireClient } from '../../support/wire-client.ts';

const MIB = 1_048_576;

export interface Attacked extends OwnServing {
  /** The attacker. */
  readonly client: WireClient;
}

/** A server that serves an honest client, and an attacker with these SETTINGS on a connection of its own. */
export async function attacked(
  t: Test,
  served: OwnServed = {},
  ...settings: readonly (readonly [number, number])[]
): Promise<Attacked> {
  const serving = await serveOwn(t, served);
  await isServed(t, serving);
  return { ...serving, client: await WireClient.open(t, serving.server.address, ...settings) };
}

export async function isServed(t: Test, { honest }: OwnServing): Promise<void> {
  t.equal((await honest.unary('/s/Echo', 'on')).status, 0, 'an honest client is served');
  t.equal((await honest.unary('/s/Echo', Buffer.alloc(50_000))).status, 0, 'also with a message in parts');
}

/** That the attacker, once its connection is closed, has left nothing, and that an honest client is served. */
export async function isOver(t: Test, serving: OwnServing, attacker: WireClient): Promise<void> {
  const { server } = serving;
  attacker.socket.destroy();
  await isServed(t, serving);
  await connectionsDownTo(server, 1);
  t.strictSame(
    [server.streamCount, server.queuedBytes, server.heldBytes, server.deadlineCount],
    [0, 0, 0, 0],
    'nothing is left',
  );
}

/** That an attack which has been made once takes no more memory when it is repeated. */
export async function takesNoMemory(
  t: Test,
  attack: () => Promise<void>,
  rounds: number,
  most = 2 * MIB,
): Promise<void> {
  await attack();
  const before = await heldMemory();
  for (let round = 0; round < rounds; round++) await attack();
  const grown = (await heldMemory()) - before;
  t.ok(grown < most, `grown by ${grown} bytes`);
}
