import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { ByteWriter } from '../../../src/base/bytes.ts';
import { encodeRateLimitRequest } from '../../../src/messages/client-codec.ts';
import { jsonToRequest } from '../../../src/messages/json-request.ts';
import { LEASE_ACTIONS } from '../../../src/messages/lease-message.ts';
import { RequestTable } from '../../../src/messages/request-table.ts';
import { repositoryRoot } from '../../support/repository.ts';

const ENTRIES = [{ key: 'user', value: 'ann' }];

/** A request with one descriptor, from JSON. */
function fromJson(descriptor: object): Uint8Array {
  const writer = new ByteWriter();
  jsonToRequest(Buffer.from(JSON.stringify({ domain: 'd', descriptors: [descriptor] })), writer);
  return writer.take();
}

/** The lease of each descriptor of a table. */
function leasesIn(table: RequestTable): unknown[] {
  return Array.from({ length: table.descriptorRows }, (_, row) => [
    table.text(table.leaseStart[row], table.leaseEnd[row]),
    table.leaseAction[row],
  ]);
}

t.test('JSON and protobuf say the same about a lease', async t => {
  for (const [name, action] of [...Object.entries(LEASE_ACTIONS), [undefined, 0] as const]) {
    const json = fromJson({ entries: ENTRIES, lease: { id: 'réq-1', action: name } });
    const descriptor = { entries: ENTRIES, limit: null, hitsAddend: null, lease: { id: 'réq-1', action } };
    const protobuf = encodeRateLimitRequest({ domain: 'd', descriptors: [descriptor], hitsAddend: 0 });
    t.same(json, protobuf);
    const table = new RequestTable();
    table.add(json);
    t.same(leasesIn(table), [['réq-1', action]]);
  }
});

t.test('the actions are those of proto/sluice/v1/lease.proto', async t => {
  const text = readFileSync(join(repositoryRoot(), 'proto/sluice/v1/lease.proto'), 'utf8');
  const actions = [...text.matchAll(/^ {4}([A-Z]+) = (\d);$/gm)].map(([, name, number]) => [
    name.toLowerCase(),
    Number(number),
  ]);
  t.same(Object.fromEntries(actions), { any: 0, ...LEASE_ACTIONS });
});

t.test(
  'a lease of one request is not that of another one, also after a request that was refused',
  async t => {
    const table = new RequestTable();
    const plain = fromJson({ entries: ENTRIES });
    const leased = fromJson({ entries: ENTRIES, lease: { id: 'a', action: 'settle' } });
    table.add(plain);
    table.add(leased);
    t.throws(() => table.add(fromJson({ entries: ENTRIES, lease: { action: 'settle' } })), {
      code: 'bad_request',
    });
    table.add(plain);
    t.same(leasesIn(table), [
      ['', 0],
      ['a', 2],
      ['', 0],
    ]);
    table.reset();
    table.add(plain);
    table.add(plain);
    t.same(leasesIn(table), [
      ['', 0],
      ['', 0],
    ]);
  },
);

t.test('what is not a lease is refused, with the reason', async t => {
  const refused = (lease: unknown, reason: RegExp) =>
    t.throws(() => new RequestTable().add(fromJson({ entries: ENTRIES, lease })), { message: reason });
  refused({ action: 'settle' }, /a `lease` with an `action` needs the `id` of the holder/);
  refused({ id: 'a', action: 'settled' }, /must be one of reserve, settle, release, extend/);
  refused({ id: 'a', action: 5 }, /the `action` of a lease must be from 0 to 4/);
  refused({ id: 'a', actions: 'settle' }, /actions/);
  refused({ id: 'x'.repeat(4_097) }, /the id of a lease may have at most 4096 bytes/);
});
