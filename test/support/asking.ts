import {
  decodeRateLimitResponse,
  encodeRateLimitRequest,
  type RateLimitRequest,
  type RateLimitResponse,
  SHOULD_RATE_LIMIT_PATH,
} from '../../src/messages/client-codec.ts';
import type { ListenAddress } from '../../src/transports/grpc/listener.ts';
import { GrpcClient } from './grpc-client.ts';
import type { Teardown } from './stores.ts';

/** An answer of `/json`. */
export interface JsonAnswer {
  readonly status: number;
  readonly body: {
    readonly overallCode?: string;
    readonly statuses?: readonly Record<string, unknown>[];
  } & Record<string, unknown>;
}

/** Asks `/json` at `host:port` for a decision. */
export async function askOverHttp(
  address: string,
  request: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<JsonAnswer> {
  const body = JSON.stringify(request);
  const response = await fetch(`http://${address}/json`, { method: 'POST', body, headers });
  return { status: response.status, body: (await response.json()) as JsonAnswer['body'] };
}

/** Asks over gRPC; rejects with the status in the text when the call fails. */
export async function askOverGrpc(client: GrpcClient, request: RateLimitRequest): Promise<RateLimitResponse> {
  const answer = await client.unary(SHOULD_RATE_LIMIT_PATH, encodeRateLimitRequest(request));
  if (answer.status !== 0) throw new Error(`status ${answer.status}: ${answer.message}`);
  return decodeRateLimitResponse(answer.response);
}

/** The body of a page, and its status. */
export async function getPage(address: string, path: string): Promise<{ status: number; text: string }> {
  const response = await fetch(`http://${address}${path}`);
  return { status: response.status, text: await response.text() };
}

/** A statistic of `/stats` by its full name; 0 when it is not there. */
export async function statistic(debugAddress: string, name: string): Promise<number> {
  const { text } = await getPage(debugAddress, '/stats');
  const line = text.split('\n').find(each => each.startsWith(`${name}: `));
  return line === undefined ? 0 : Number(line.slice(name.length + 2));
}

/** What a gRPC client dials for the address that a service logged. */
export function dialled(address: string): ListenAddress {
  if (address.startsWith('unix:')) return { path: address.slice('unix:'.length) };
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) };
}

/** A gRPC client of the address that a service logged, closed with the test. */
export function grpcTo(t: Teardown, address: string): GrpcClient {
  const client = new GrpcClient(dialled(address));
  t.teardown(() => client.close());
  return client;
}
