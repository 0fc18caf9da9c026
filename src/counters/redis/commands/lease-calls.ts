import { randomBytes } from 'node:crypto';
import type { ByteWriter } from '../../../base/bytes.ts';
import type { CounterBatch } from '../../batch.ts';
import { STEP } from '../../leases/lease.ts';
import { UNDO } from '../protocol/lease-functions.ts';

/** Names of leases begin with `=` if they are those of holders, else with `#`. */
const NAMED = 61;
const UNNAMED = 35;

/** The end of the names of leases without a holder, which differs between threads and processes. */
const OWN = Buffer.from(randomBytes(9).toString('base64url'));

/** Digits of the number in the name of a lease without a holder. */
const DIGITS = 12;

type Purpose = 'decide' | 'takeBack' | 'read' | 'preview';

/** What the ops with leases of a batch ask of a script. */
export class LeaseCalls {
  static #next = 0;
  readonly #purpose: Purpose;
  /** The number of the first op, in the names of leases without a holder. */
  readonly #first: number;

  private constructor(purpose: Purpose, first: number) {
    this.#purpose = purpose;
    this.#first = first;
  }

  /** The calls that the batch has. */
  static of({ opCount }: CounterBatch): LeaseCalls {
    const first = LeaseCalls.#next;
    LeaseCalls.#next += opCount;
    return new LeaseCalls('decide', first);
  }

  /** No calls: the slots are only read. */
  static none(): LeaseCalls {
    return new LeaseCalls('read', 0);
  }

  /** The calls that the batch has, of which nothing is written. */
  static previewing(): LeaseCalls {
    return new LeaseCalls('preview', 0);
  }

  /** The calls that take back what ops have done whose hits are held back. */
  takingBack(): LeaseCalls {
    return new LeaseCalls('takeBack', this.#first);
  }

  get isUndo(): boolean {
    return this.#purpose === 'takeBack';
  }

  /** Whether nothing is written. */
  get isReading(): boolean {
    return this.#purpose === 'read' || this.#purpose === 'preview';
  }

  /** Whether an op is among the calls. */
  has({ leases, opHeld }: CounterBatch, op: number): boolean {
    if (this.isUndo) return opHeld[op] === 1 && leases.held[op] + leases.spent[op] > 0;
    return this.#purpose !== 'read';
  }

  /** One of `ACTION`, or of {@link UNDO}. */
  actionOf({ leases }: CounterBatch, op: number): number {
    if (!this.isUndo) return leases.actions[op];
    return leases.steps[op] === STEP.take ? UNDO.take : UNDO.spend;
  }

  hitsOf({ leases, opHits }: CounterBatch, op: number): number {
    return this.isUndo ? leases.held[op] + leases.spent[op] : opHits[op];
  }

  /** Appends the name of the lease of an op. Returns its length. */
  addName(names: ByteWriter, batch: CounterBatch, op: number): number {
    const before = names.length;
    if (batch.leases.isNamed(op)) {
      const { bytes, start, end } = batch.leases.leaseOf(op);
      names.byte(NAMED);
      names.copy(bytes, start, end);
    } else {
      // Leases that end in the same millisecond end in the order of their names.
      const number = Buffer.from(String(this.#first + op).padStart(DIGITS, '0'));
      names.byte(UNNAMED);
      names.copy(number, 0, number.length);
      names.copy(OWN, 0, OWN.length);
    }
    return names.length - before;
  }
}
