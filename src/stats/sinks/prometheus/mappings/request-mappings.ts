import type { Mapping } from '../mapping.ts';
import { counter } from './mapping-of.ts';

const FAILED = 'Requests of /check that were answered without a decision, because it failed.';

/** Mappings of the statistics of requests that rules turn into descriptors. */
export const REQUEST_MAPPINGS: readonly Mapping[] = [
  counter(
    'ratelimit.requests.left_out_descriptors',
    'sluice_requests_left_out_descriptors_total',
    'Descriptors that were left out because a request had no value for one of their entries.',
  ),
  counter(
    'ratelimit.requests.without_descriptors',
    'sluice_requests_without_descriptors_total',
    'Requests that were allowed because no descriptor was left.',
  ),
  counter(
    'ratelimit.requests.invalid_tokens',
    'sluice_requests_invalid_tokens_total',
    'Requests with a token that is not valid, and therefore has no claims.',
  ),
  ...(['allowed', 'denied'] as const).map(answer =>
    counter(`ratelimit.requests.${answer}_on_failure`, 'sluice_requests_failed_total', FAILED, {
      labels: [['answer', answer]],
    }),
  ),
];
