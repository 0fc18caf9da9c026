import t from 'tap';
import { BucketRegistry } from '../../../src/quota/bucket-registry.ts';
import { QuotaStream } from '../../../src/quota/quota-stream.ts';
import { bucketId } from '../../support/quota/model-proxy.ts';

const NOW_MS = 1_700_000_000_000;

function openStream(registry: BucketRegistry): QuotaStream {
  const stream = new QuotaStream('', () => {});
  stream.domain = 'api';
  registry.open(stream);
  return stream;
}

/** How many buckets with long ids a stream can report. */
function fill(registry: BucketRegistry, stream: QuotaStream): number {
  let count = 0;
  while (registry.find(stream, bucketId([['user', `${'a'.repeat(1_000)}${count}`]]), NOW_MS) !== null)
    count++;
  return count;
}

t.test('buckets take a bounded memory, which those that are forgotten leave to others', async t => {
  const registry = new BucketRegistry(100_000);
  const [one, other] = [openStream(registry), openStream(registry)];
  const count = fill(registry, one);
  t.ok(count > 10 && count < 30, `${count} buckets`);
  t.equal(fill(registry, other), 0);
  t.ok(registry.find(one, bucketId([['user', `${'a'.repeat(1_000)}0`]]), NOW_MS), 'known ones are found');
  registry.close(one);
  t.equal(fill(registry, other), count);
  for (const membership of [...registry.of(other)]) registry.forget(membership);
  t.equal(fill(registry, one), 0, 'the stream has closed');
  t.equal(fill(registry, openStream(registry)), count);
});

t.test('ids in many orders take a bounded memory as well', async t => {
  const registry = new BucketRegistry(10_000);
  const stream = openStream(registry);
  const keys = ['a', 'b', 'c', 'd'];
  const idOf = (order: number) =>
    bucketId(keys.map((_, i) => [keys[(i + order) % 4], '1'.repeat(order < 4 ? 300 : 301)]));
  for (let order = 0; order < 4; order++) t.ok(registry.find(stream, idOf(order), NOW_MS));
  t.equal(registry.count, 1);
  t.ok(registry.find(stream, idOf(4), NOW_MS), 'there is room for one more');
  t.equal(registry.find(stream, bucketId([['user', 'ann']]), NOW_MS), null);
});
