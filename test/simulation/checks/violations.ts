/** The promises of the documentation that a history can break. */
export type Promised =
  | 'acknowledged writes are kept'
  | 'one request has one effect'
  | 'never early'
  | 'one attempt at a time'
  | 'limits hold'
  | 'one task for a key'
  | 'groups keep their order'
  | 'pauses hold'
  | 'attempts follow the policy'
  | 'results are those of the worker'
  | 'one callback for each end'
  | 'one run for each time'
  | 'the history is complete'
  | 'counts and usage add up'
  | 'lists skip nothing'
  | 'no one waits for ever'
  | 'deleted is gone'
  | 'ended tasks are removed in time'
  | 'rights hold'
  | 'secrets are kept'
  | 'quotas hold'
  | 'changes are in the audit log'
  | 'running tasks can be canceled'
  | 'no bug is logged'
  | 'the store agrees with itself';

export interface Violation {
  readonly promise: Promised;
  readonly text: string;
}

/** Notes that a promise was broken. */
export type Report = (promise: Promised, text: string) => void;
