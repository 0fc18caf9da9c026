import t from 'tap';
import {
  encodeStatusMessage,
  failureBlock,
  statusMessage,
  trailersOnlyBlock,
} from '../../../src/grpc/blocks.ts';
import { GRPC_STATUS, type GrpcStatus } from '../../../src/grpc/service.ts';

t.test('a failure says its own status and text, whatever failed before it', t => {
  const failures: [GrpcStatus, string][] = [
    [GRPC_STATUS.unknown, ''],
    [GRPC_STATUS.internal, 'one'],
    [GRPC_STATUS.internal, 'one'],
    [GRPC_STATUS.internal, 'other'],
    [GRPC_STATUS.unavailable, 'other'],
    [GRPC_STATUS.ok, ''],
  ];
  for (const [status, message] of failures)
    t.strictSame(failureBlock(status, message), trailersOnlyBlock(status, message));
  t.end();
});

t.test('failures one after the other with the same status and text are encoded once', t => {
  const first = failureBlock(GRPC_STATUS.internal, 'the text');
  t.equal(failureBlock(GRPC_STATUS.internal, 'the text'), first);
  t.end();
});

t.test('printable ASCII is unchanged, except the percent sign', async t => {
  let printable = '';
  for (let code = 0x20; code <= 0x7e; code++) printable += String.fromCharCode(code);
  t.equal(encodeStatusMessage(printable), printable.replace('%', '%25'));
});

t.test('everything else is percent-encoded UTF-8, in upper case', async t => {
  t.equal(encodeStatusMessage('a\u0000\n\u007fü€😀'), 'a%00%0A%7F%C3%BC%E2%82%AC%F0%9F%98%80');
});

t.test('what a client decodes is the text that was sent', async t => {
  const text = '100 % "gone"\r\n\tüber 漢字 😀';
  t.equal(decodeURIComponent(encodeStatusMessage(text)), text);
});

t.test('a lone surrogate becomes the replacement character', async t => {
  t.equal(statusMessage('a\ud800b'), 'a\ufffdb');
  t.equal(encodeStatusMessage('\udc00'), '%EF%BF%BD');
});

t.test('a long text is cut, and says so', async t => {
  t.equal(statusMessage('x'.repeat(1_024)), 'x'.repeat(1_024));
  t.equal(statusMessage('x'.repeat(1_025)), `${'x'.repeat(1_023)}…`);
});

t.test(
  'a text that grows by its encoding stays within what clients accept, and is cut between characters',
  async t => {
    for (const character of ['漢', '😀', '\n']) {
      const encoded = encodeStatusMessage(character.repeat(1_024));
      t.ok(encoded.length < 6_200, `${encoded.length} octets`);
      t.match(decodeURIComponent(encoded), new RegExp(`^(${character})+…?$`, 'u'));
    }
  },
);
