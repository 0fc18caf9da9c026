import t from 'tap';
import { Framing } from '../../../../src/transports/http/framing.ts';

function framingOf(...fields: readonly string[]): Framing {
  const framing = new Framing();
  // What an earlier request said is forgotten.
  for (const name of ['host', 'content-length', 'transfer-encoding', 'trailer', 'expect', 'connection'])
    framing.field(name, '9');
  framing.begin();
  for (const field of fields) {
    const [name] = field.split(': ', 1);
    framing.field(name, field.slice(name.length + 2));
  }
  return framing;
}

t.test('a request without a body', t => {
  const framing = framingOf('host: a', 'accept: */*');
  t.equal(framing.fault, null);
  t.equal(framing.bodyBytes, 0);
  t.notOk(framing.closes || framing.expects || framing.announcesTrailers || framing.chunked);
  t.end();
});

t.test('a length, and a body in chunks', t => {
  t.equal(framingOf('host: a', 'content-length: 0012').bodyBytes, 12);
  const chunked = framingOf('host: a', 'transfer-encoding: Chunked');
  t.equal(chunked.fault, null);
  t.equal(chunked.bodyBytes, null);
  t.end();
});

t.test('what can be read in two ways is a fault', t => {
  for (const fields of [
    ['host: a', 'host: a'],
    ['host: a b'],
    ['host: u@a'],
    ['content-length: 1', 'content-length: 1'],
    ['content-length: '],
    ['content-length: +1'],
    ['content-length: 1,1'],
    ['content-length: 0x1'],
    [`content-length: ${'9'.repeat(16)}`],
    ['transfer-encoding: '],
    ['transfer-encoding: xchunked'],
    ['transfer-encoding: gzip, chunked'],
    ['transfer-encoding: chunked', 'transfer-encoding: chunked'],
    ['transfer-encoding: chunked', 'content-length: 5'],
  ])
    t.type(framingOf(...fields).fault, 'string', JSON.stringify(fields));
  t.end();
});

t.test('close among other options, in any letters and fields', t => {
  for (const value of ['close', 'Close', 'te, close', 'close,te', ' te ,\tCLOSE '])
    t.ok(framingOf(`connection: ${value}`).closes, value);
  for (const value of ['keep-alive', 'closed', 'not close', ''])
    t.notOk(framingOf(`connection: ${value}`).closes, value);
  t.ok(framingOf('connection: te', 'connection: close').closes);
  t.end();
});
