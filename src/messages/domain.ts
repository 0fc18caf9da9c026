import { WireFault, WireReader } from './wire.ts';

const DOMAIN_FIELD = 1;

/** More of a domain than this is of no use in a trace. */
const MAX_CHARACTERS = 200;

/** The domain of a `RateLimitRequest`, for people; empty when there is none or the bytes are no such message. */
export function domainOf(request: Uint8Array): string {
  const reader = new WireReader();
  reader.open(request, 0, request.length);
  let domain = '';
  try {
    while (reader.next()) {
      if (reader.field === DOMAIN_FIELD) domain = reader.text();
      else reader.skip();
    }
  } catch (fault) {
    if (!(fault instanceof WireFault)) throw fault;
    return '';
  }
  return domain.slice(0, MAX_CHARACTERS).toWellFormed();
}
