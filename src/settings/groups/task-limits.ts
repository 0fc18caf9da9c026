import { DAY_MS, HOUR_MS } from '../../base/clock.ts';
import { derivedSetting, duration, integer, setting } from '../kinds/kinds.ts';

/** Keeping tasks shorter or longer than configured would be a surprise, so a value out of range is a fault. */
const retention = duration({ min: HOUR_MS, max: 366 * DAY_MS, strict: 'both' });

/** Default limits of a tenant; the operator can change them for each account. */
export const taskLimits = {
  title: 'Limits of a tenant',
  introduction: 'Default limits of each tenant. The operator can change them for a single account.',
  settings: {
    tasksMaxOpen: derivedSetting({
      names: ['TASKS_MAX_OPEN'],
      kind: integer({ min: 1, max: 100_000_000, strict: 'min' }),
      default: '`200000` with `TASKS_STORE=redis`, otherwise `1000000`',
      help: 'Maximum number of open (not yet finished) tasks per tenant.',
    }),
    tasksRetainSucceededMs: setting({
      names: ['TASKS_RETAIN_SUCCEEDED'],
      kind: retention,
      default: 7 * DAY_MS,
      help: 'How long succeeded tasks are kept, including their history.',
    }),
    tasksRetainOtherMs: setting({
      names: ['TASKS_RETAIN_OTHER'],
      kind: retention,
      default: 30 * DAY_MS,
      help: 'How long failed, canceled and expired tasks are kept, including their history.',
    }),
    tasksMaxPayloadBytes: setting({
      names: ['TASKS_MAX_PAYLOAD_BYTES'],
      kind: integer({ min: 1, max: 1_048_576, strict: 'min' }),
      default: 262_144,
      help: 'Maximum size in bytes of the payload of a task.',
    }),
    tasksMaxWorkers: setting({
      names: ['TASKS_MAX_WORKERS'],
      kind: integer({ min: 1, max: 100_000, strict: 'min' }),
      default: 100,
      help: 'Maximum number of workers per tenant.',
    }),
    tasksMaxSchedules: setting({
      names: ['TASKS_MAX_SCHEDULES'],
      kind: integer({ min: 1, max: 1_000_000, strict: 'min' }),
      default: 1_000,
      help: 'Maximum number of schedules per tenant.',
    }),
    tasksMaxUsers: setting({
      names: ['TASKS_MAX_USERS'],
      kind: integer({ min: 1, max: 100_000, strict: 'min' }),
      default: 100,
      help: 'Maximum number of users per tenant.',
    }),
    tasksMaxTokens: setting({
      names: ['TASKS_MAX_TOKENS'],
      kind: integer({ min: 1, max: 1_000, strict: 'min' }),
      default: 50,
      help: 'Maximum number of tokens per user.',
    }),
    tasksMaxInFlight: setting({
      names: ['TASKS_MAX_IN_FLIGHT'],
      kind: integer({ min: 1, max: 100_000, strict: 'min' }),
      default: 200,
      help: 'Maximum number of tasks per tenant that run at the same time.',
    }),
    tasksDispatchRate: setting({
      names: ['TASKS_DISPATCH_RATE'],
      kind: integer({ min: 1, max: 1_000_000, strict: 'min' }),
      default: 500,
      help: 'Maximum number of tasks per tenant that are started in one second.',
    }),
  },
} as const;
