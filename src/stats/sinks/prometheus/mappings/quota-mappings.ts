import type { Mapping } from '../mapping.ts';
import { counter, gauge } from './mapping-of.ts';

const REQUESTS = 'Requests that proxies have decided themselves, as they reported them.';

const FAILED =
  'Rounds in which no quotas were granted, because the store has failed or has answered too late.';

/** Mappings of the statistics of proxies that decide themselves. */
export const QUOTA_MAPPINGS: readonly Mapping[] = [
  gauge(
    'ratelimit.quota.streams',
    'sluice_quota_streams',
    'Open streams of proxies that report what they admit.',
  ),
  gauge(
    'ratelimit.quota.buckets',
    'sluice_quota_buckets',
    'Buckets that proxies report, counted once for each thread that has them.',
  ),
  counter('ratelimit.quota.reports', 'sluice_quota_reports_total', 'Reports of buckets.'),
  ...(['allowed', 'denied'] as const).map(decision =>
    counter(`ratelimit.quota.${decision}`, 'sluice_quota_requests_total', REQUESTS, {
      labels: [['decision', decision]],
    }),
  ),
  counter(
    'ratelimit.quota.rejected',
    'sluice_quota_rejected_reports_total',
    'Reports of buckets that proxies were told to forget, because their ids are invalid or there are too many.',
  ),
  counter(
    'ratelimit.quota.assignments',
    'sluice_quota_assignments_total',
    'Assignments that proxies were sent.',
  ),
  counter(
    'ratelimit.quota.exhausted',
    'sluice_quota_exhausted_assignments_total',
    'Assignments that deny all requests of a bucket, because nothing of a limit is left.',
  ),
  counter('ratelimit.quota.store_errors', 'sluice_quota_failed_rounds_total', FAILED, {
    labels: [['cause', 'store']],
  }),
  counter('ratelimit.quota.late', 'sluice_quota_failed_rounds_total', FAILED, {
    labels: [['cause', 'late']],
  }),
];
