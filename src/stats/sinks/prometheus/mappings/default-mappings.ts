import type { Mapping, Mappings } from '../mapping.ts';
import { DECISION_MAPPINGS } from './decision-mappings.ts';
import { LEASE_MAPPINGS } from './lease-mappings.ts';
import { QUOTA_MAPPINGS } from './quota-mappings.ts';
import { REFERENCE_HELPS, referenceMappings } from './reference-mappings.ts';
import { REQUEST_MAPPINGS } from './request-mappings.ts';
import { TASK_MAPPINGS } from './task-mappings.ts';

/**
 * Mappings that mapper files written for envoyproxy/ratelimit do not have. They apply to statistics that match nothing in
 * such a file.
 */
export const ADDED_MAPPINGS: readonly Mapping[] = [
  ...DECISION_MAPPINGS,
  ...QUOTA_MAPPINGS,
  ...REQUEST_MAPPINGS,
  ...TASK_MAPPINGS,
  ...REFERENCE_HELPS,
];

/**
 * The built-in mappings.
 *
 * @param responseTimeIn the unit of `ratelimit_service_response_time_seconds`; the name does not change with it
 */
export function defaultMappings(responseTimeIn: 'seconds' | 'milliseconds'): Mappings {
  return {
    list: [...LEASE_MAPPINGS, ...referenceMappings(responseTimeIn), ...ADDED_MAPPINGS],
    globOrder: 'first',
  };
}
