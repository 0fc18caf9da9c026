import t from 'tap';
import { isHelloComplete } from '../../../../../src/transports/grpc/tls/client-hello.ts';

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
