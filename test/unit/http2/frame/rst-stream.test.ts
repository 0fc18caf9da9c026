import t from 'tap';
import { ERROR } from '../../../../src/http2/error-code.ts';
import { checkRstStream, writeRstStream } from '../../../../src/http2/frame/rst-stream.ts';
import { octets, written } from './octets.ts';

t.test('RST_STREAM carries an error code (RFC 9113, 6.4)', async t => {
  t.same(
    written(to => writeRstStream(to, 0x0102_0305, ERROR.enhanceYourCalm)),
    octets(
      [0x00, 0x00, 0x04], //       length 4
      [0x03], //                   type RST_STREAM
      [0x00], //                   no flags
      [0x01, 0x02, 0x03, 0x05], // stream 16,909,061
      [0x00, 0x00, 0x00, 0x0b], // ENHANCE_YOUR_CALM
    ),
  );
  t.equal(checkRstStream(9, 13), null);
});

t.test('RST_STREAM of another length than 4 is a FRAME_SIZE_ERROR (RFC 9113, 6.4)', async t => {
  for (const length of [0, 3, 5])
    t.match(checkRstStream(9, 9 + length), { scope: 'connection', code: 6 }, `${length} octets`);
});

t.test('error codes have the numbers of RFC 9113, 7', async t => {
  t.same(Object.values(ERROR), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
});
