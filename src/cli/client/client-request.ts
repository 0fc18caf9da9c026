import type { DescriptorEntry, RateLimitRequest, RequestLease } from '../../messages/client-codec.ts';
import { LEASE_ACTION_NAMES } from '../../messages/lease-message.ts';
import { integer } from '../../settings/kinds/kinds.ts';
import { type FlagValues, readFlag, textFlag } from '../terminal/flags.ts';
import { UsageFault } from '../terminal/io.ts';

/** Flags that make a request. */
export const REQUEST_FLAGS = {
  domain: textFlag('NAME', 'the domain to ask about'),
  descriptors: {
    kind: 'list',
    placeholder: 'K=V,K2=V2',
    help: 'a descriptor; repeat the flag for further descriptors',
  },
  hits: textFlag(
    'N',
    'hits to count on each descriptor; 0 counts nothing and reports the present state',
    '1',
  ),
  refund: { kind: 'switch', help: 'return the hits instead of counting them' },
  lease: textFlag('ID', 'the holder of a lease, for rules with leases; else it is named by an entry'),
  'lease-action': textFlag('ACTION', 'what to do with the lease: reserve, settle, release or extend'),
} as const;

/**
 * The request that the flags describe.
 *
 * @throws UsageFault when they describe none
 */
export function requestFromFlags(flags: FlagValues<typeof REQUEST_FLAGS>): RateLimitRequest {
  if (flags.domain === '') {
    throw new UsageFault('--domain is missing: give the domain of the rules, such as --domain shop.');
  }
  if (flags.descriptors.length === 0) {
    throw new UsageFault('--descriptors is missing: give at least one, such as --descriptors user=anna.');
  }
  const hits = readFlag('hits', flags.hits, integer({ min: 0, max: Number.MAX_SAFE_INTEGER }));
  // Services read 0 hits of a request as 1, and hits of a request have 32 bits.
  const isOfRequest = hits > 0 && hits < 2 ** 32;
  const hitsAddend = isOfRequest ? null : hits;
  const lease = leaseFromFlags(flags);
  return {
    domain: flags.domain,
    descriptors: flags.descriptors.map(text => ({
      entries: parseEntries(text),
      limit: null,
      hitsAddend,
      isNegativeHits: flags.refund,
      lease,
    })),
    hitsAddend: isOfRequest ? hits : 0,
  };
}

function leaseFromFlags(flags: FlagValues<typeof REQUEST_FLAGS>): RequestLease | null {
  const { lease: id, 'lease-action': name } = flags;
  if (id === '' && name === '') return null;
  if (id === '') throw new UsageFault('--lease-action needs the holder of the lease: add --lease ID.');
  const action = LEASE_ACTION_NAMES.indexOf(name) + 1;
  if (name !== '' && action === 0)
    throw new UsageFault(`--lease-action ${name} is unknown. Accepted: ${LEASE_ACTION_NAMES.join(', ')}.`);
  return { id, action };
}

/**
 * `k=v,k2=v2`. A pair is split at its first `=`. The reference implementation refuses a second one, yet values with
 * `=` (tokens, query strings) are common and keys with `=` are not.
 */
function parseEntries(text: string): DescriptorEntry[] {
  return text.split(',').map(pair => {
    const split = pair.indexOf('=');
    if (split > 0) return { key: pair.slice(0, split), value: pair.slice(split + 1) };
    const fault = split < 0 ? 'has no "="' : 'has no key before its "="';
    throw new UsageFault(`--descriptors ${text}: "${pair}" ${fault}. Write each pair as key=value.`);
  });
}
