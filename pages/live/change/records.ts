import type { ApiError } from '../../service/call.ts';
import { usePolled } from '../polled.ts';
import type { SteeringRecord } from './record.ts';

type ListOf<Name extends string> = { readonly [name in Name]: readonly SteeringRecord[] };

/** The active records of all kinds: bans, passes, then overrides, each the oldest first. */
export interface Records {
  /** Null until all were read. */
  readonly records: readonly SteeringRecord[] | null;
  /** Why they could not be read; null if they were. */
  readonly error: ApiError | null;
  readonly reload: () => void;
}

/** Reads the active records every two seconds. */
export function useRecords(): Records {
  const bans = usePolled<ListOf<'bans'>>('/bans');
  const passes = usePolled<ListOf<'passes'>>('/passes');
  const overrides = usePolled<ListOf<'overrides'>>('/overrides');
  const all = [bans, passes, overrides];
  const isRead = bans.answer !== null && passes.answer !== null && overrides.answer !== null;
  return {
    records: isRead ? [...bans.answer.bans, ...passes.answer.passes, ...overrides.answer.overrides] : null,
    error: all.find(({ error }) => error !== null)?.error ?? null,
    reload: () => {
      for (const { reload } of all) reload();
    },
  };
}
