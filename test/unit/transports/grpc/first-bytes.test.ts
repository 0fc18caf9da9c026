import t from 'tap';
import { isHelloComplete, type Protocol, protocolOf } from '../../../../src/transports/grpc/first-bytes.ts';

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

/** The result after each octet. The first decision counts. */
function decisionsOf(text: string): Protocol[] {
  const bytes = Buffer.from(text, 'latin1');
  return Array.from(bytes, (_, i) => protocolOf(bytes.subarray(0, i + 1)));
}

t.test('HTTP/2 is known by its first four octets', async t => {
  t.strictSame(decisionsOf('PRI '), ['undecided', 'undecided', 'undecided', 'http2']);
  t.equal(protocolOf(Buffer.from(PREFACE)), 'http2');
});

t.test('HTTP/1 is known once its request line is complete, however it is cut', async t => {
  for (const line of [
    'GET / HTTP/1.1\r\n',
    'P /x HTTP/1.0\n',
    'PROPFIND /a HTTP/1.1\r\n',
    'PRINT /a HTTP/1.1\r\n',
  ]) {
    const decisions = decisionsOf(line);
    t.equal(decisions.pop(), 'http1', line);
    t.ok(decisions.every(decision => decision === 'undecided'));
  }
  t.equal(protocolOf(Buffer.from('GET / HTTP/1.1\r\nhost: a\r\n\r\nmore')), 'http1');
});

t.test('anything else is neither', async t => {
  t.equal(protocolOf(Buffer.from([0x16, 0x03, 0x01])), 'other', 'TLS, at its first octet');
  t.equal(protocolOf(Buffer.from('INVALID CONNECTION PREFACE\r\n\r\n')), 'other');
  t.equal(protocolOf(Buffer.from('GET / HTTP/2.0\r\n')), 'other');
  t.equal(protocolOf(Buffer.from('PRX\n')), 'other');
});

t.test('a line without an end is not waited for without end', async t => {
  t.equal(protocolOf(Buffer.alloc(1_023, 'A')), 'undecided');
  t.equal(protocolOf(Buffer.alloc(1_024, 'A')), 'other');
});

t.test('nothing is undecided', async t => {
  t.equal(protocolOf(Buffer.alloc(0)), 'undecided');
});

/** Splits a handshake message of `size` bytes, its head included, into records of at most `part` bytes. */
function hello(size: number, part: number): Buffer {
  const message = Buffer.alloc(size, 7);
  message[0] = 1;
  message.writeUIntBE(size - 4, 1, 3);
  const records: Buffer[] = [];
  for (let at = 0; at < size; at += part) {
    const content = message.subarray(at, at + part);
    records.push(Buffer.from([22, 3, 1, content.length >> 8, content.length & 255]), content);
  }
  return Buffer.concat(records);
}

t.test('a ClientHello is complete with its last byte, however it is split into records', t => {
  for (const [size, part] of [
    [512, 16_384],
    [4, 16_384],
    [40, 1],
    [600, 3],
    [20_000, 16_384],
  ]) {
    const bytes = hello(size, part);
    t.ok(isHelloComplete(bytes), `${size} bytes in records of ${part}`);
    const firstComplete = Array.from(bytes.keys()).find(end => isHelloComplete(bytes.subarray(0, end)));
    t.equal(firstComplete, undefined);
    t.ok(isHelloComplete(Buffer.concat([bytes, Buffer.from('more')])));
  }
  t.end();
});

t.test('bytes that are no handshake are left to OpenSSL at once', t => {
  t.ok(isHelloComplete(Buffer.from('P')));
  t.ok(isHelloComplete(Buffer.from([21])));
  t.ok(isHelloComplete(Buffer.from([22, 3, 1, 0xff, 0xff])), 'a record longer than any');
  t.ok(isHelloComplete(Buffer.concat([hello(512, 300).subarray(0, 305), Buffer.from('GET')])));
  t.end();
});
