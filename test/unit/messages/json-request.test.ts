import t from 'tap';
import { ByteWriter } from '../../../src/base/bytes.ts';
import { jsonToRequest } from '../../../src/messages/json-request.ts';
import { MAX_DESCRIPTORS, MAX_ENTRIES } from '../../../src/messages/request-table.ts';
import {
  encoded,
  entry,
  faultOf,
  key,
  limit,
  ownHits,
  read,
  withHits,
  withKey,
} from './json-request-cases.ts';

t.test('a fault names the place, the byte and what to write instead', async t => {
  const fault = faultOf('{"descriptors":[{},{"entries":[{"value":"a","key":5}]}]}');
  t.equal(fault.path, 'descriptors[1].entries[0].key');
  t.equal(fault.offset, 50);
  t.equal(
    fault.message,
    'descriptors[1].entries[0].key: must be a JSON string (write "5"), not the number 5 (at byte 50)',
  );
});

t.test('a fault repeats little of the document and nothing that could upset a terminal', async t => {
  t.ok(faultOf(`{"${'x'.repeat(10_000)}":1}`).message.length < 250, 'a long name');
  t.ok(faultOf(`{"hitsAddend":1${'0'.repeat(10_000)}}`).message.length < 250, 'a long number');
  t.notMatch(faultOf('{"\u001b[2J":1}').message, '\u001b');
  t.notMatch(faultOf('{"\u202egnp":1}').message, '\u202e');
});

t.test('bytes that are not UTF-8 are refused in texts and names', async t => {
  const broken = ['80', 'c3', 'c080', 'c3c3', 'e282', 'eda080', 'f0808080', 'f4908080', 'fe', 'ff'];
  for (const hex of broken) {
    const bytes = Buffer.from(hex, 'hex');
    const inText = faultOf(Buffer.concat([Buffer.from('{"domain":"a'), bytes, Buffer.from('b"}')]));
    t.equal(inText.path, 'domain', hex);
    t.match(inText.message, 'not valid UTF-8');
    const besideEscape = faultOf(Buffer.concat([Buffer.from('{"domain":"\\n'), bytes, Buffer.from('\\n"}')]));
    t.match(besideEscape.message, 'not valid UTF-8');
    t.match(
      faultOf(Buffer.concat([Buffer.from('{"d'), bytes, Buffer.from('":1}')])).message,
      'not valid UTF-8',
    );
  }
});

t.test('the wire form is the shortest one: no empty texts, no zeros, no padded lengths', async t => {
  const hex = (document: string): string => Buffer.from(encoded(document)).toString('hex');
  t.equal(hex('{"domain":"","descriptors":[],"hitsAddend":0}'), '');
  t.equal(hex('{"hitsAddend":300,"domain":"d"}'), '18ac02' + '0a0164');
  t.equal(hex(entry('{"key":"k","value":"v"}')), '1208' + '0a06' + '0a016b' + '120176');
  t.equal(hex(entry('{"key":"","value":""}')), '1202' + '0a00');
  t.equal(hex(limit('{}')), '1202' + '1200');
  t.equal(hex(limit('{"requestsPerUnit":0,"unit":"UNKNOWN"}')), '1202' + '1200');
  t.equal(hex(limit('{"unit":-1}')), '120d' + '120b' + '10ffffffffffffffffff01');
  t.equal(hex(ownHits('0')), '1202' + '1a00');
  t.equal(hex(ownHits('9223372036854775808')), '120d' + '1a0b' + '0880808080808080808001');
});

t.test('texts and messages of every length of length arrive whole', async t => {
  for (const count of [1, 126, 127, 128, 129, 16_383, 16_384, 2_097_151, 2_097_152]) {
    t.same(read(key(`"${'x'.repeat(count)}"`)), withKey('x'.repeat(count)), `${count} plain`);
    t.same(
      read(key(`"\\t${'x'.repeat(count)}"`)),
      withKey(`\t${'x'.repeat(count)}`),
      `${count} with an escape`,
    );
  }
});

t.test('a writer keeps what it held: in front of a request, and alone after a fault', async t => {
  const writer = new ByteWriter(4);
  writer.ascii('kept');
  t.throws(() =>
    jsonToRequest(Buffer.from('{"domain":"d","descriptors":[{"entries":[{"key":"k"},5]}]}'), writer),
  );
  t.equal(Buffer.from(writer.view()).toString(), 'kept');
  jsonToRequest(Buffer.from('{"domain":"d"}'), writer);
  t.equal(Buffer.from(writer.view()).toString('latin1'), 'kept\n\u0001d');
});

t.test('a document that breaks off at any byte is refused', async t => {
  const whole = Buffer.from(
    '{"domain":"é\\n","descriptors":[{"entries":[{"key":"k\\ud83d\\ude00","value":"v"}],"limit":' +
      '{"requestsPerUnit":1.5e1,"unit":"DAY"},"hitsAddend":"18446744073709551615"},{"limit":null}],"hitsAddend":12}',
  );
  t.ok(read(whole), 'the whole document is accepted');
  for (let length = 0; length < whole.length; length++) {
    const fault = faultOf(whole.subarray(0, length));
    if (fault.offset > length) t.fail(`a fault at byte ${fault.offset} of ${length}`);
  }
});

t.test('a request has at most 4096 descriptors of at most 256 entries', async t => {
  const many = (count: number): string => Array.from({ length: count }, () => '{}').join(',');
  t.ok(read(`{"descriptors":[${many(MAX_DESCRIPTORS)}]}`), 'the most descriptors');
  t.ok(read(entry(many(MAX_ENTRIES))), 'the most entries');
  const descriptors = faultOf(`{"descriptors":[${many(MAX_DESCRIPTORS + 1)}]}`);
  t.match(descriptors, { code: 'too_large', path: 'descriptors[4096]' });
  t.match(
    descriptors.message,
    'a request may hold at most 4096 descriptors: send the rest in another request',
  );
  const entries = faultOf(entry(many(MAX_ENTRIES + 1)));
  t.match(entries, { code: 'too_large', path: 'descriptors[0].entries[256]' });
  t.match(entries.message, 'a descriptor may hold at most 256 entries: split it into several descriptors');
});

t.test('a hostile document costs no more than its length', async t => {
  const count = 400_000;
  t.match(
    faultOf(`{"hitsAddend":${'1'.repeat(count)}}`).message,
    'must be a whole number from 0 to 4294967295',
  );
  t.match(
    faultOf(`{"hitsAddend":0.${'0'.repeat(count)}1}`).message,
    'must be a whole number from 0 to 4294967295',
  );
  t.match(faultOf(`{"hitsAddend":1e${'0'.repeat(count)}x}`).message, 'expected a comma');
  t.same(read(`{"hitsAddend":"1.${'0'.repeat(count)}"}`), withHits(1));
  t.match(faultOf(`{"${'\\n'.repeat(count / 2)}":1}`).message, 'is not a known field');
  t.match(faultOf(`{"domain":${' '.repeat(count)}`).message, 'the end of the document');
  t.match(faultOf('[{'.repeat(count / 2)).message, 'must be a JSON object, not an array');
});
