import type { CounterBatch } from '../../batch.ts';
import { LEASE_MODE } from '../../leases/lease.ts';
import type { LiveLease, SlotLeases } from '../../store.ts';
import type { KeyServer } from '../connections/counting-server.ts';
import { CommandWriter, TAG_END, TAG_START } from '../protocol/command-writer.ts';
import { LEASE_LIST } from '../protocol/lease-list-script.ts';
import { writeKeys } from './lease-commands.ts';

/** Bytes before the name of the holder. */
const NAMED = '=';

/** Numbers of the reply for each listed lease, and before the first one. */
const PER_LEASE = 3;
const BEFORE = 2;

/**
 * The live leases of each slot; null for a slot without leases, and if its server does not answer or is another one now.
 * @param serverOf finds the server of a key
 */
export async function leaseLists(
  batch: CounterBatch,
  most: number,
  serverOf: (key: Uint8Array) => KeyServer,
): Promise<(SlotLeases | null)[]> {
  const lists = Array.from({ length: batch.slotCount }, async (_, slot): Promise<SlotLeases | null> => {
    if (!batch.admissions.isLeased(slot)) return null;
    const reply = await listOn(serverOf(tagOf(batch, slot)), batch, slot, most);
    return reply === null ? null : listOf(reply, batch, slot);
  });
  return await Promise.all(lists);
}

/** The reply of the script; null for none. The script only reads, so it is sent as a whole. */
async function listOn(
  server: KeyServer,
  batch: CounterBatch,
  slot: number,
  most: number,
): Promise<readonly unknown[] | null> {
  const link = server.link();
  if (link === null) return null;
  const writer = new CommandWriter();
  writer.command(6);
  writer.encoded(LEASE_LIST.byText);
  writer.number(2);
  writeKeys(writer, batch, slot);
  writer.number(most);
  const [reply] = await link.exchange(writer.take(), 1);
  if (Array.isArray(reply)) return reply;
  server.lookAgain();
  return null;
}

function listOf(reply: readonly unknown[], batch: CounterBatch, slot: number): SlotLeases {
  const window = Number(String(reply[1]).split(' ')[0]);
  const { mode } = batch.leases.of(slot);
  const isCurrent = mode === LEASE_MODE.concurrency || window > batch.nowS;
  const listed: LiveLease[] = [];
  for (let at = BEFORE; at + PER_LEASE <= reply.length; at += PER_LEASE) {
    const name = String(reply[at]);
    const [, hits, , ofWindow] = String(reply[at + 1])
      .split(' ')
      .map(Number);
    const holds = isCurrent && mode !== LEASE_MODE.once && ofWindow === window;
    listed.push({
      holder: name.startsWith(NAMED) ? name.slice(NAMED.length) : '',
      hits: holds ? hits : 0,
      endsMs: Number(reply[at + 2]),
    });
  }
  return { count: Number(reply[0]), listed };
}

/** What decides which server has the keys of a slot. */
function tagOf(batch: CounterBatch, slot: number): Uint8Array {
  const key = batch.keys.bytes.subarray(batch.keyStart(slot), batch.keyEnds[slot]);
  return Buffer.concat([TAG_START, key, TAG_END]);
}
