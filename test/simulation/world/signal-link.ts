import { SIGNAL_NAMES, type Signals } from '../../../src/tasks/model/signals.ts';

type Listeners = Parameters<Signals['listen']>[0];
type Signal = Parameters<Signals['tellAllBut']>[1];
/** Lets a signal arrive at the other thread, at some time or never. */
type Carry = (signal: Signal, arrived: (signal: Signal) => void) => void;

/** Connects the signals of two threads, as ports do. */
export function connectSignals(one: Signals, other: Signals, carry: Carry): void {
  const ofOne: Listeners = listeners(signal => carry(signal, told => other.tellAllBut(ofOther, told)));
  const ofOther: Listeners = listeners(signal => carry(signal, told => one.tellAllBut(ofOne, told)));
  one.listen(ofOne);
  other.listen(ofOther);
}

function listeners(hear: (signal: Signal) => void): Listeners {
  const all = SIGNAL_NAMES.map(name => [
    name,
    (...details: unknown[]) => hear([name, ...details] as unknown as Signal),
  ]);
  return Object.fromEntries(all);
}
