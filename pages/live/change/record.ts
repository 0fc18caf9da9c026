import type { Descriptor } from '../descriptor.ts';

/** What a record does to the descriptors that it matches. */
export type RecordKind = 'override' | 'ban' | 'pass';

/** The path of each kind in the API. */
export const RECORD_PATHS: Readonly<Record<RecordKind, string>> = {
  override: 'overrides',
  ban: 'bans',
  pass: 'passes',
};

/** An override, a ban or a pass that is active. */
export interface SteeringRecord extends Descriptor {
  readonly id: string;
  readonly kind: RecordKind;
  /** Only for overrides: one of the two. */
  readonly requests_per_unit?: number;
  readonly factor?: number;
  /** ISO 8601. */
  readonly until: string;
  readonly reason: string;
  readonly created: string;
  readonly by: string;
}

/** What an operator asks for. */
export type RecordRequest = Omit<SteeringRecord, 'id' | 'kind' | 'created' | 'by'>;
