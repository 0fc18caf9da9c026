import t from 'tap';
import {
  checkHealthListRequest,
  decodeHealthCheckRequest,
  encodeHealthCheckResponse,
  encodeHealthListResponse,
  SERVING_STATUS,
} from '../../../src/messages/health-codec.ts';
import {
  decodeHealthCheckResponse,
  decodeHealthListResponse,
  encodeHealthCheckRequest,
} from '../../support/health-messages.ts';

const bytes = (hex: string): Uint8Array => Buffer.from(hex.replaceAll(' ', ''), 'hex');
const hex = (encoded: Uint8Array): string => Buffer.from(encoded).toString('hex');

t.test('a request is its service name in field 1', async t => {
  t.equal(hex(encodeHealthCheckRequest('abc')), '0a03616263');
  t.equal(hex(encodeHealthCheckRequest('')), '');
  t.equal(decodeHealthCheckRequest(bytes('0a 03 616263')), 'abc');
  t.equal(decodeHealthCheckRequest(bytes('')), '');
});

t.test('a response is its status in field 1', async t => {
  t.equal(hex(encodeHealthCheckResponse(SERVING_STATUS.serving)), '0801');
  t.equal(hex(encodeHealthCheckResponse(SERVING_STATUS.unknown)), '');
  for (const status of Object.values(SERVING_STATUS)) {
    t.equal(decodeHealthCheckResponse(encodeHealthCheckResponse(status)), status);
  }
});

t.test('a status that the protocol does not define reads as unknown', async t => {
  t.equal(decodeHealthCheckResponse(bytes('08 63')), SERVING_STATUS.unknown);
});

t.test('a list is a map of names to responses', async t => {
  const statuses = new Map([
    ['', SERVING_STATUS.serving],
    ['a', SERVING_STATUS.notServing],
  ]);
  const encoded = encodeHealthListResponse(statuses);
  // Entry { 2: { 1: 1 } }, entry { 1: "a", 2: { 1: 2 } }.
  t.equal(hex(encoded), '0a0412020801' + '0a070a016112020802');
  t.strictSame(decodeHealthListResponse(encoded), statuses);
  t.strictSame(decodeHealthListResponse(bytes('0a 00')), new Map([['', SERVING_STATUS.unknown]]));
});

t.test('unknown fields are passed over, and the last of a repeated field counts', async t => {
  const unknown = '1005 1a0178 25 00000000 29 0000000000000000';
  t.equal(decodeHealthCheckRequest(bytes(`${unknown} 0a0161 0a0162 ${unknown}`)), 'b');
  t.equal(decodeHealthCheckResponse(bytes(`${unknown} 0802 0801`)), SERVING_STATUS.serving);
  t.strictSame(
    decodeHealthListResponse(bytes(`${unknown} 0a0a 1005 0a0161 1203 0801 12`.slice(0, 0))),
    new Map(),
  );
  t.doesNotThrow(() => checkHealthListRequest(bytes(unknown)));
});

t.test('bytes that are no message fail with the place', async t => {
  const cut = bytes('0a 05 41');
  const fault = { name: 'WireFault', message: /at byte \d/ };
  t.throws(() => decodeHealthCheckRequest(cut), fault);
  t.throws(() => decodeHealthCheckRequest(bytes('0801')), fault, 'a number where a text belongs');
  t.throws(() => decodeHealthCheckRequest(bytes('0a01ff')), {
    name: 'WireFault',
    message: /not valid UTF-8 at byte 1/,
  });
  t.throws(() => decodeHealthCheckResponse(bytes('0a0161')), fault, 'a text where a number belongs');
  t.throws(() => decodeHealthListResponse(cut), fault);
  t.throws(
    () => decodeHealthListResponse(bytes('0a03 1202 08')),
    fault,
    'an entry that is longer than the message',
  );
  t.throws(() => checkHealthListRequest(cut), fault);
});
