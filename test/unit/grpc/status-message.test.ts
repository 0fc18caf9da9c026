import t from 'tap';
import { encodeStatusMessage, statusMessage } from '../../../src/grpc/status-message.ts';

t.test('printable ASCII stays as it is, but for the percent sign', async t => {
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
