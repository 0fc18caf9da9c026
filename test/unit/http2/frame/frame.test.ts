import t from 'tap';
import {
  FLAG,
  FRAME,
  frameLength,
  readUint31,
  readUint32,
  writeFrameHeader,
  writeUint32,
} from '../../../../src/http2/frame/frame.ts';
import { octets, written } from './octets.ts';

t.test('a frame header is length, type, flags and stream (RFC 9113, 4.1)', async t => {
  const header = octets(
    [0x01, 0x02, 0x03], // length 66,051
    [0x09], //             type CONTINUATION
    [0x04], //             flags END_HEADERS
    [0x7f, 0xff, 0xff, 0xff], // the highest stream
  );
  t.same(
    written(to => writeFrameHeader(to, 66_051, FRAME.continuation, FLAG.endHeaders, 0x7fff_ffff)),
    header,
  );
  t.equal(frameLength(header, 0), 66_051);
  t.equal(readUint31(header, 5), 0x7fff_ffff);
});

t.test('the reserved bit before a stream is ignored (RFC 9113, 4.1)', async t => {
  const header = octets(
    [0x00, 0x00, 0x00], //      length 0
    [0x00], //                  type DATA
    [0x00], //                  no flags
    [0x80, 0x00, 0x00, 0x05], // reserved bit, stream 5
  );
  t.equal(readUint31(header, 5), 5);
});

t.test('frame types have the numbers of RFC 9113, 6', async t => {
  t.same(FRAME, {
    data: 0,
    headers: 1,
    priority: 2,
    rstStream: 3,
    settings: 4,
    pushPromise: 5,
    ping: 6,
    goAway: 7,
    windowUpdate: 8,
    continuation: 9,
  });
});

t.test('flags have the bits of RFC 9113, 6', async t => {
  t.same(FLAG, { endStream: 0x01, ack: 0x01, endHeaders: 0x04, padded: 0x08, priority: 0x20 });
});

t.test('32 bits are read and written most significant octet first', async t => {
  for (const value of [0, 1, 0x0102_0304, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff]) {
    const bytes = written(to => writeUint32(to, value));
    t.equal(bytes.length, 4);
    t.equal(readUint32(bytes, 0), value);
    t.equal(readUint31(bytes, 0), value % 0x8000_0000, 'and 31 of them without the first');
  }
  t.same(
    written(to => writeUint32(to, 0x0102_0304)),
    octets([1, 2, 3, 4]),
  );
});
