import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import t from 'tap';
import { NodeRequestHead, readTarget } from '../../../../src/transports/http/node/node-request.ts';

function headOf(target: string, rawHeaders: string[]): NodeRequestHead {
  const request = new IncomingMessage(new Socket());
  request.rawHeaders = rawHeaders;
  return new NodeRequestHead(request, readTarget(target)!);
}

function fieldsOf(head: NodeRequestHead): string[] {
  const fields: string[] = [];
  head.each((name, value) => fields.push(`${name}: ${value}`));
  return fields;
}

t.test('the host of a target in absolute form takes the place of that of the header', async t => {
  const head = headOf('http://shop.example/a', ['Host', 'other.example', 'X-User', 'ann']);
  t.equal(head.header('host'), 'shop.example');
  t.same(fieldsOf(head), ['host: shop.example', 'x-user: ann']);
  t.same(fieldsOf(headOf('http://shop.example/a', [])), ['host: shop.example'], 'also without a header');
});

t.test('other targets leave the host to the header', async t => {
  const head = headOf('/a', ['Host', 'other.example', 'host', 'second.example']);
  t.equal(head.header('host'), 'other.example');
  t.same(fieldsOf(head), ['host: other.example', 'host: second.example']);
});
