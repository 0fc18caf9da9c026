/** The promises of the documentation of decisions that a history can break. */
export type Promised =
  | 'one answer for each request'
  | 'limits hold'
  | 'no one is refused below the limit'
  | 'leases hold'
  | 'answers say what is left'
  | 'the local cache refuses only what the limit refuses'
  | 'new requests see new rules'
  | 'the failure mode decides without the store'
  | 'the store is asked when it is well'
  | 'one order explains all answers'
  | 'statistics add up'
  | 'no bug is logged';

export interface Violation {
  readonly promise: Promised;
  readonly text: string;
}

/** Notes that a promise was broken. */
export type Report = (promise: Promised, text: string) => void;
