import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { Finding } from './finding.ts';
import type { NodeAddress, SlotMap } from './slot-map.ts';

/** What the servers of one instance are. A single server has neither, a cluster slots, a sentinel setup a master. */
export interface Topology {
  readonly slots: Finding<SlotMap>;
  readonly master: Finding<NodeAddress>;
}

/** The topologies of both instances. */
export interface Topologies {
  readonly main: Topology;
  readonly perSecond: Topology;
}

type FromFinder = { readonly instance: keyof Topologies } & (
  | { readonly slots: SlotMap }
  | { readonly master: NodeAddress }
);

/** Sent by a follower to ask for the current state of an instance. */
interface LookAgain {
  readonly instance: keyof Topologies;
}

const INSTANCES = ['main', 'perSecond'] as const;

/** Creates the topology of an instance. `isFoundHere` is true in the thread that asks the servers. */
export function openTopology(isFoundHere: boolean): Topology {
  return { slots: new Finding(isFoundHere), master: new Finding(isFoundHere) };
}

/** Creates the topologies of the thread that asks the servers. */
export function openTopologies(): Topologies {
  return { main: openTopology(true), perSecond: openTopology(true) };
}

/** Sends everything that is known and found to another thread, until the port is closed. */
export function announceTopologies(port: MessagePort, topologies: Topologies): void {
  const post = (message: FromFinder): void => port.postMessage(message);
  const ends = INSTANCES.flatMap(instance => [
    topologies[instance].slots.follow(slots => post({ instance, slots })),
    topologies[instance].master.follow(master => post({ instance, master })),
  ]);
  port.on('message', ({ instance }: LookAgain) => {
    topologies[instance].slots.lookAgain();
    topologies[instance].master.lookAgain();
  });
  port.on('close', () => {
    for (const end of ends) end();
  });
}

/** Creates the topologies of a thread that does not ask the servers. They follow {@link announceTopologies}. */
export function followTopologies(port: MessagePort): Topologies {
  const topologies = { main: openTopology(false), perSecond: openTopology(false) };
  for (const instance of INSTANCES) {
    const ask = (): void => port.postMessage({ instance } satisfies LookAgain);
    topologies[instance].slots.onLookAgain(ask);
    topologies[instance].master.onLookAgain(ask);
  }
  const take = (message: FromFinder): void => {
    if ('slots' in message) topologies[message.instance].slots.set(message.slots);
    else topologies[message.instance].master.set(message.master);
  };
  // What was found before is known from the start, so that the first attempt to connect does not fail.
  for (;;) {
    const received = receiveMessageOnPort(port);
    if (received === undefined) break;
    take(received.message);
  }
  port.on('message', take);
  return topologies;
}
