/**
 * Bounds on one `RateLimitRequest`, the same whether it arrives as protobuf or as JSON. The protocol names none
 * (spec 8), and a message of a few megabytes could otherwise ask for a million decisions. Proxies send a handful.
 */

/** How many descriptors one request may hold. */
export const MAX_DESCRIPTORS = 4096;

/** How many entries one descriptor may hold. */
export const MAX_ENTRIES = 256;

/** What the caller is told about a descriptor beyond {@link MAX_DESCRIPTORS}. */
export const TOO_MANY_DESCRIPTORS = `a request may hold at most ${MAX_DESCRIPTORS} descriptors: send the rest in another request`;

/** What the caller is told about an entry beyond {@link MAX_ENTRIES}. */
export const TOO_MANY_ENTRIES = `a descriptor may hold at most ${MAX_ENTRIES} entries: split it into several descriptors`;
