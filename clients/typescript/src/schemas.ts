import type { components } from './generated/api.ts';

type Schemas = components['schemas'];

/** A task as the service shows it. `payload` is the data for the worker. */
export type Task = Schemas['Task'];
/** The right to work on a task until a time. */
export type Lease = Schemas['Lease'];
/** The body of an error answer (RFC 9457). */
export type Problem = Schemas['Problem'];
