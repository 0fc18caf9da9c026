import { encodeRateLimitRequest } from '../../../src/messages/client-codec.ts';

/** The call that all servers are asked for. */
export const METHOD_PATH = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';

/** Header fields that gRPC clients send. */
export const CALL_HEADERS = [
  ['content-type', 'application/grpc'],
  ['te', 'trailers'],
  ['user-agent', 'grpc-bench'],
] as const;

/** A proxy's usual question: one descriptor of two entries. */
export const REQUEST = encodeRateLimitRequest({
  domain: 'edge',
  descriptors: [
    {
      entries: [
        { key: 'remote_address', value: '203.0.113.7' },
        { key: 'path', value: '/checkout' },
      ],
      limit: null,
      hitsAddend: null,
    },
  ],
  hitsAddend: 0,
});

/** The answer, the same to every call: a `RateLimitResponse` of OK with 41 of 100 in a minute left, 17 s to go. */
export const ANSWER = new Uint8Array(Buffer.from('0801120e0801120408641002182922020811', 'hex'));
