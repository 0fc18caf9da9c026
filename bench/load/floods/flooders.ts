import { setPriority } from 'node:os';
import { answerBench } from '../../support/control-channel.ts';
import { Flooder } from './flooder.ts';
import { HttpFlooder } from './http-flooder.ts';
import { HTTP_FLOOD_KINDS } from './http-kinds.ts';
import { FLOOD_KINDS } from './kinds.ts';

/*
 * The process of the flooders. It gives way to the service and to the honest client: on a machine of few cores the
 * latency would else say who got the core.
 */

const NICENESS = 10;

export interface FloodOrder {
  readonly port: number;
  readonly front: 'grpc' | 'json';
  readonly kind: string;
  readonly connections: number;
}

/** Results of the flooders. */
export interface FloodReport {
  /** Connections that the service closed. */
  readonly ended: number;
  readonly answered: number;
}

let flooders: (Flooder | HttpFlooder)[] = [];

/** Creates a flooder of the given kind. */
function maker({ port, front, kind }: FloodOrder): (number: number) => Flooder | HttpFlooder {
  if (front === 'json') {
    const found = named(HTTP_FLOOD_KINDS, kind);
    return () => new HttpFlooder(port, found);
  }
  const found = named(FLOOD_KINDS, kind);
  return number => new Flooder(port, found, number);
}

function named<T extends { readonly name: string }>(kinds: readonly T[], name: string): T {
  const found = kinds.find(kind => kind.name === name);
  if (found === undefined) throw new Error(`there is no flood ${name}`);
  return found;
}

const answers = {
  start: (order: FloodOrder): void => {
    const make = maker(order);
    flooders = Array.from({ length: order.connections }, (_, number) => make(number));
  },
  stop: (): FloodReport => {
    for (const flooder of flooders) flooder.stop();
    const sum = (of: (flooder: Flooder | HttpFlooder) => number): number =>
      flooders.reduce((total, one) => total + of(one), 0);
    return { ended: sum(one => one.ended), answered: sum(one => one.answered) };
  },
};
export type FlooderAnswers = typeof answers;

setPriority(NICENESS);
answerBench(null, answers);
