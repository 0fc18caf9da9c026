import type { DescriptorEntry } from '../messages/client-codec.ts';
import { decodeBucketId } from '../messages/quota-codec.ts';
import { WireFault } from '../messages/wire.ts';
import { QuotaBucket } from './quota-bucket.ts';
import type { QuotaStream } from './quota-stream.ts';
import { Subscriber } from './subscriber.ts';

/** Bounds on the id of a bucket: its size in bytes, and the number of its entries. */
const MAX_ID_BYTES = 4_096;
const MAX_ENTRIES = 32;

/** Bounds on the buckets of a proxy, and on those of a thread. */
const MAX_BUCKETS_OF_STREAM = 20_000;
const MAX_BUCKETS = 200_000;

/** Memory of a proxy in a bucket, and how many times as much as its id it takes beside. Estimates, in bytes. */
const MEMBERSHIP_BYTES = 500;
const COPIES_OF_ID = 4;

/** Memory that all proxies in all buckets of a thread may take, by the same estimate: that of a million small ids. */
const MAX_BYTES = 2 ** 30;

/** In how many orders a proxy writes the entries of a bucket, at most, so that they are recognized without decoding them. */
const MAX_SPELLINGS = 8;

/** A proxy in a bucket. */
export interface Membership {
  readonly stream: QuotaStream;
  readonly bucket: QuotaBucket;
  readonly subscriber: Subscriber;
  /** The ids that the proxy writes, as text: the same entries may come in any order. */
  readonly spellings: string[];
}

/** The buckets that proxies report to a thread. */
export class BucketRegistry {
  /** By domain and sorted entries. */
  readonly #byName = new Map<string, QuotaBucket>();
  readonly #ofStreams = new Map<QuotaStream, BucketsOfStream>();
  readonly #maxBytes: number;
  #bytes = 0;

  /** @param maxBytes memory that proxies in buckets may take */
  constructor(maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  get buckets(): Iterable<QuotaBucket> {
    return this.#byName.values();
  }

  get count(): number {
    return this.#byName.size;
  }

  /** A proxy has opened a stream. */
  open(stream: QuotaStream): void {
    this.#ofStreams.set(stream, { bySpelling: new Map(), byBucket: new Map() });
  }

  /** The stream of a proxy has ended. Returns the memberships that it had. */
  close(stream: QuotaStream): readonly Membership[] {
    const memberships = [...this.of(stream)];
    this.#ofStreams.delete(stream);
    for (const membership of memberships) this.#bytes -= bytesOf(membership);
    return memberships;
  }

  /**
   * The proxy in the bucket with an id, from its first report on. Null if the id is not one that rules could match, or if
   * there are too many buckets.
   *
   * @param id `BucketId` in wire format
   */
  find(stream: QuotaStream, id: Uint8Array, nowMs: number): Membership | null {
    const ofStream = this.#ofStreams.get(stream);
    if (id.length > MAX_ID_BYTES || ofStream === undefined) return null;
    const spelling = Buffer.from(id.buffer, id.byteOffset, id.length).toString('latin1');
    const known = ofStream.bySpelling.get(spelling);
    if (known !== undefined) return known;
    const entries = this.#bytes < this.#maxBytes ? entriesOf(id) : null;
    if (entries === null) return null;
    const bucket = this.#bucketOf(stream.domain, entries);
    if (bucket === null) return null;
    let membership = ofStream.byBucket.get(bucket);
    if (membership === undefined) {
      if (ofStream.byBucket.size >= MAX_BUCKETS_OF_STREAM) {
        this.forgetIfUnused(bucket);
        return null;
      }
      membership = { stream, bucket, subscriber: new Subscriber(stream, id.slice(), nowMs), spellings: [] };
      ofStream.byBucket.set(bucket, membership);
      this.#bytes += bytesOf(membership);
    }
    if (membership.spellings.length < MAX_SPELLINGS) {
      this.#bytes -= bytesOf(membership);
      membership.spellings.push(spelling);
      this.#bytes += bytesOf(membership);
      ofStream.bySpelling.set(spelling, membership);
    }
    return membership;
  }

  /** The proxy has been told to forget a bucket. */
  forget(membership: Membership): void {
    const { stream, bucket, spellings } = membership;
    this.#bytes -= bytesOf(membership);
    const ofStream = this.#ofStreams.get(stream);
    ofStream?.byBucket.delete(bucket);
    for (const spelling of spellings) ofStream?.bySpelling.delete(spelling);
  }

  /** The memberships of a proxy. */
  of(stream: QuotaStream): Iterable<Membership> {
    return this.#ofStreams.get(stream)?.byBucket.values() ?? [];
  }

  /** Forgets a bucket that no proxy has. It may have been forgotten already, and there may be another one of its name. */
  forgetIfUnused(bucket: QuotaBucket): void {
    if (bucket.subscribers.size === 0 && this.#byName.get(bucket.name) === bucket)
      this.#byName.delete(bucket.name);
  }

  #bucketOf(domain: string, entries: readonly DescriptorEntry[]): QuotaBucket | null {
    const name = bucketName(domain, entries);
    const known = this.#byName.get(name);
    if (known !== undefined) return known;
    if (this.#byName.size >= MAX_BUCKETS) return null;
    const bucket = new QuotaBucket(name, domain, entries);
    this.#byName.set(name, bucket);
    return bucket;
  }
}

/** The buckets of a proxy, also by the ids that it writes, byte by byte as text. */
interface BucketsOfStream {
  readonly bySpelling: Map<string, Membership>;
  readonly byBucket: Map<QuotaBucket, Membership>;
}

/** Names a bucket among all others, whatever the order of its entries is. */
export function bucketName(domain: string, entries: readonly DescriptorEntry[]): string {
  return JSON.stringify([domain, ...sortedByKey(entries).map(({ key, value }) => [key, value])]);
}

/** The entries of a bucket in the order that all its spellings share. */
export function sortedByKey(entries: readonly DescriptorEntry[]): readonly DescriptorEntry[] {
  return [...entries].sort((one, other) => (one.key < other.key ? -1 : 1));
}

function bytesOf({ subscriber, spellings }: Membership): number {
  const copies = Math.max(COPIES_OF_ID, COPIES_OF_ID - 1 + spellings.length);
  return MEMBERSHIP_BYTES + copies * subscriber.id.length;
}

/** The entries of an id, sorted by key. Null if the bytes are not an id that rules could match. */
function entriesOf(id: Uint8Array): readonly DescriptorEntry[] | null {
  let entries: readonly DescriptorEntry[];
  try {
    entries = decodeBucketId(id);
  } catch (fault) {
    if (!(fault instanceof WireFault)) throw fault;
    return null;
  }
  if (entries.length === 0 || entries.length > MAX_ENTRIES) return null;
  if (entries.some(({ key, value }) => key === '' || value === '')) return null;
  return sortedByKey(entries);
}
