import { setPriority } from 'node:os';
import { answerBench } from '../../support/control-channel.ts';
import { Flooder } from './flooder.ts';
import { FLOOD_KINDS } from './kinds.ts';

/*
 * The process of the flooders. It gives way to the service and to the honest client: on a machine of few cores the
 * latency would else say who got the core.
 */

const NICENESS = 10;

export interface FloodOrder {
  readonly port: number;
  readonly kind: string;
  readonly connections: number;
}

/** What the flooders did. */
export interface FloodReport {
  /** Connections that the service ended. */
  readonly ended: number;
  readonly answered: number;
}

let flooders: Flooder[] = [];

const answers = {
  start: ({ port, kind, connections }: FloodOrder): void => {
    const found = FLOOD_KINDS.find(({ name }) => name === kind);
    if (found === undefined) throw new Error(`there is no flood ${kind}`);
    flooders = Array.from({ length: connections }, (_, number) => new Flooder(port, found, number));
  },
  stop: (): FloodReport => {
    for (const flooder of flooders) flooder.stop();
    const sum = (of: (flooder: Flooder) => number): number =>
      flooders.reduce((total, one) => total + of(one), 0);
    return { ended: sum(one => one.ended), answered: sum(one => one.answered) };
  },
};
export type FlooderAnswers = typeof answers;

setPriority(NICENESS);
answerBench(null, answers);
