import type { Test } from 'tap';
import { play } from './play.ts';
import type { Ask, History, Step, StoreKind } from './steps/step.ts';

/** A start of a task. */
export interface SeenStart {
  readonly tenant: string;
  readonly worker: string;
  readonly id: string;
  /** The `type` of the task, with which scenarios name tasks. */
  readonly type: string | null;
  readonly attempt: number;
  /** Milliseconds since the begin, by the clock of the store. */
  readonly at: number;
}

/** What has happened in a scenario. */
export class Seen {
  readonly starts: SeenStart[] = [];
  /** Which tasks were removed, by type, and when by the clock of the store, in milliseconds since the begin. */
  readonly removed: { readonly type: string; readonly at: number }[] = [];
  /** The nominal times of the runs of each schedule, by the type of its tasks. */
  readonly #runs = new Map<string, string[]>();
  /** How each task has ended, by its type. */
  readonly ends = new Map<string, string[]>();

  ran(type: string, time: number): void {
    this.#runs.set(type, [...this.runs(type), new Date(time).toISOString().slice(11, 16)]);
  }

  /** Hours and minutes in UTC. */
  runs(type: string): readonly string[] {
    return this.#runs.get(type) ?? [];
  }

  startsOf(type: string): readonly SeenStart[] {
    return this.starts.filter(start => start.type === type);
  }
}

type Setup = Partial<Omit<History, 'steps'>> & { readonly steps: readonly Step[] };

/** Plays a history on both stores: no promise may be broken, and `check` looks at what has happened. */
export function scenario(t: Test, name: string, setup: Setup, check: (seen: Seen, t: Test) => void): void {
  for (const store of ['model', 'sqlite'] satisfies StoreKind[]) {
    t.test(`${name} (${store})`, async t => {
      const seen = new Seen();
      const history = {
        ...{ seed: 1, store, start: '2026-03-01T12:00:00Z', processes: 1, slots: 16, delayMs: 2 },
        ...setup,
        steps: setup.steps.toSorted((a, b) => a.at - b.at),
      };
      const startMs = Date.parse(history.start);
      const { violations } = await play(history, judge => {
        judge.listen(({ tenant, before, after, by, happened: { at } }) => {
          if (after === null) {
            seen.removed.push({ type: String(before?.type), at: at - startMs });
            return;
          }
          const { id, worker, type, attempt } = after;
          if (by === 'started') seen.starts.push({ tenant, worker, id, type, attempt, at: at - startMs });
          if (by === 'created' && after.createdBy.type === 'schedule')
            seen.ran(String(type), after.scheduledFor!);
          if (after.finishedAt !== null && before?.finishedAt === null)
            seen.ends.set(String(type), [...(seen.ends.get(String(type)) ?? []), after.status]);
        });
      });
      t.strictSame(violations, [], 'all promises are kept');
      check(seen, t);
    });
  }
}

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;

/** A call of a tenant, with a body. */
export function ask(at: number, method: Ask['method'], path: string, body?: object, tenant = 'acme'): Step {
  return { at, do: 'ask', tenant, method, path, ...(body !== undefined && { body: { ...body } }) };
}

/** A tenant with a push worker `mailer` that has these fields. */
export function tenant(name: string, worker: object = {}): Step[] {
  const fields = { name: 'mailer', url: `https://${name}.example.com/`, timeout: '5s', ...worker };
  return [{ at: 0, do: 'operator', tenant: name, method: 'POST' }, ask(500, 'POST', 'workers', fields, name)];
}

/** The end of a scenario. */
export function until(at: number): Step {
  return { at, do: 'wait' };
}
