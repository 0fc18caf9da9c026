/** The longest key that memcached takes, in bytes. */
const MAX_KEY_BYTES = 250;

/** White space and control characters, which end a key in the text protocol. */
const UNFIT = /[\x00-\x20\x7f]/;

/** Why memcached cannot hold a key (one character a byte); empty when it can. */
export function keyFault(key: string): string {
  if (key.length > MAX_KEY_BYTES) {
    return `a key of memcached has at most ${MAX_KEY_BYTES} bytes, and this one has ${key.length}`;
  }
  if (key === '') return 'a key of memcached is not empty';
  return UNFIT.test(key) ? 'a key of memcached holds no white space and no control characters' : '';
}

/** True for what {@link keyFault} says. */
export function isKeyFault(reason: string): boolean {
  return reason.startsWith('a key of memcached ');
}
