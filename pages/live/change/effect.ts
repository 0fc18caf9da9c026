import { formatCount } from '../../design/format.ts';
import { type Descriptor, descriptorText } from '../descriptor.ts';
import type { RecordRequest } from './record.ts';

/** Who a record concerns: `requests with user=ann in shop`. */
export function concerned({ domain, entries }: Descriptor): string {
  const isPattern = entries.some(({ value = '' }) => value === '' || value.includes('*'));
  const what = descriptorText(entries);
  return `${isPattern ? 'all requests' : 'requests'} with ${what} in ${domain}`;
}

/** What an override does, in words. */
export function overrideEffect({ requests_per_unit: limit, factor, ...descriptor }: RecordRequest): string {
  const what =
    limit === undefined
      ? `Multiplies the limit by ${formatCount(factor ?? 1)}`
      : `Changes the limit to ${formatCount(limit)}`;
  return `${what} for ${concerned(descriptor)}. What was counted so far stays counted.`;
}

export function banEffect(descriptor: Descriptor): string {
  return `Rejects ${concerned(descriptor)}, without counting them.`;
}

export function passEffect(descriptor: Descriptor): string {
  return `Allows ${concerned(descriptor)}, without counting them.`;
}
