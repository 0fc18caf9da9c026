import t from 'tap';
import {
  decodeDiscoveryResponse,
  encodeDiscoveryRequest,
  encodeNode,
  MAX_RESOURCES,
} from '../../../src/messages/discovery-codec.ts';
import { messageType } from '../../support/xds-messages.ts';

const request = messageType('envoy.service.discovery.v3.DiscoveryRequest');
const response = messageType('envoy.service.discovery.v3.DiscoveryResponse');

t.test('an independent decoder reads a request as it was meant', async t => {
  const node = encodeNode({ id: 'edge-1', metadata: { region: 'eu', tier: '' } });
  const bytes = encodeDiscoveryRequest({
    node,
    typeUrl: 't/x',
    version: '7',
    nonce: 'n',
    refusal: 'ä is wrong',
  });
  t.match(request.deserialize(Buffer.from(bytes)), {
    version_info: '7',
    node: {
      id: 'edge-1',
      metadata: { fields: { region: { stringValue: 'eu' }, tier: { stringValue: '' } } },
      user_agent_name: 'sluice',
    },
    resource_names: [],
    type_url: 't/x',
    response_nonce: 'n',
    error_detail: { code: 3, message: 'ä is wrong' },
  });
});

t.test('a first request has no version, no nonce and no error, yet metadata', async t => {
  const node = encodeNode({ id: '', metadata: {} });
  const bytes = encodeDiscoveryRequest({ node, typeUrl: 't/x', version: '', nonce: '', refusal: '' });
  t.match(request.deserialize(Buffer.from(bytes)), {
    version_info: '',
    node: { id: '', metadata: { fields: {} } },
    response_nonce: '',
    error_detail: null,
  });
});

t.test('a response is read as an independent encoder wrote it', async t => {
  const bytes = response.serialize({
    version_info: 'v1',
    nonce: 'n1',
    type_url: 't/x',
    resources: [{ type_url: 't/x', value: Buffer.from('one') }, { type_url: 't/y' }],
  });
  const decoded = decodeDiscoveryResponse(bytes);
  t.match(decoded, { version: 'v1', nonce: 'n1', typeUrl: 't/x' });
  t.same(
    decoded.resources.map(({ typeUrl, value }) => [typeUrl, Buffer.from(value).toString()]),
    [
      ['t/x', 'one'],
      ['t/y', ''],
    ],
  );
});

t.test('bytes that are not a response are refused', async t => {
  t.throws(() => decodeDiscoveryResponse(Buffer.of(0x0a, 200)), { name: 'WireFault' });
  t.throws(() => decodeDiscoveryResponse(Buffer.of(0x2a, 1, 0xff)), /field 5 is not valid UTF-8/);
});

t.test('of endless resources one more than the bound is kept', async t => {
  const bytes = Buffer.alloc(2 * (MAX_RESOURCES + 1_000), Buffer.of(0x12, 0));
  t.equal(decodeDiscoveryResponse(bytes).resources.length, MAX_RESOURCES + 1);
});
