import type { OperationName } from '../../../src/tasks/store/operations.ts';
import type { SeededRandom } from '../../support/seeded-random.ts';
import type { RandomTenant } from './random-tenants.ts';
import { STORE_FAULTS, type Step } from './step.ts';

interface Scene {
  readonly tenants: readonly RandomTenant[];
  readonly processes: number;
}

/** Operations whose faults matter, those that change something more often. */
const OPERATIONS: readonly OperationName[] = [
  ...(['create', 'create', 'create', 'claim', 'claim', 'claim', 'settle', 'settle', 'settle'] as const),
  ...([
    'apply',
    'apply',
    'change',
    'change',
    'remove',
    'extend',
    'overdue',
    'wakeups',
    'dueDocuments',
  ] as const),
  ...([
    'getDocument',
    'now',
    'addUsage',
    'remember',
    'setWakeup',
    'list',
    'openOfSchedule',
    'leased',
  ] as const),
];

export function randomTrouble(random: SeededRandom, { tenants, processes }: Scene, at: number): Step[] {
  const process = random.below(processes);
  switch (random.below(19)) {
    case 0:
    case 1:
      return [{ at, do: 'crash', process, downMs: random.below(5_000) }];
    case 2:
      return [{ at, do: 'restart', process, downMs: random.below(2_000) }];
    case 3:
      return [{ at, do: 'outage', tenant: null, ms: random.below(8_000), hangs: random.below(2) === 0 }];
    case 4:
      return [{ at, do: 'outage', tenant: random.pick(tenants).name, ms: random.below(8_000), hangs: false }];
    case 5:
      return [{ at, do: 'network', ms: 1_000 + random.below(8_000), percent: 10 + random.below(60) }];
    case 6: {
      const tenant = random.pick(tenants);
      const { name } = random.pick(tenant.workers);
      const how = random.pick(['refuses', 'hangs', 'fails'] as const);
      return [
        { at, do: 'receiver', tenant: tenant.name, worker: name, ms: 1_000 + random.below(8_000), how },
      ];
    }
    case 7:
      return [{ at, do: 'signals', process, ms: 2_000 + random.below(20_000) }];
    case 8: {
      const byMs = random.pick([-7_200_000, -60_000, -5_000, 5_000, 60_000, 3_600_000, 7_200_000]);
      // A clock that is set back makes the time of the store pass slowly until it has caught up.
      const ofStore = random.below(2) === 0;
      return [
        {
          at,
          do: 'clock',
          process: ofStore ? null : process,
          byMs: ofStore ? Math.max(-60_000, byMs) : byMs,
        },
      ];
    }
    case 9:
      // The machine was suspended: tasks that have ended may be too old now.
      return [{ at, do: 'clock', process: null, byMs: random.pick([1_900_000, 3_605_000, 7_230_000]) }];
    default: {
      const kind = random.pick(STORE_FAULTS);
      const ofAny = random.below(2) === 0;
      const operation = random.pick(OPERATIONS);
      return [
        {
          at,
          do: 'fault',
          process: ofAny ? null : process,
          operation,
          kind,
          ms: random.below(kind === 'late' ? 6_000 : 3_000),
        },
      ];
    }
  }
}
