const BYTES = 16;

/** So many ids of leases: 128 random bits each, hex. */
export function leaseIds(count: number, randomBytes: (count: number) => Buffer): string[] {
  const digits = randomBytes(BYTES * count).toString('hex');
  const length = 2 * BYTES;
  return Array.from({ length: count }, (_, at) => digits.slice(length * at, length * (at + 1)));
}
