import { Agent, request as startRequest } from 'node:http';
import {
  CODE_NAMES,
  decodeRateLimitResponse,
  encodeRateLimitRequest,
  type RateLimitRequest,
  SHOULD_RATE_LIMIT_PATH,
} from '../../../src/messages/client-codec.ts';
import { dialled } from '../asking.ts';
import { GrpcClient } from '../grpc-client.ts';

/** What one descriptor was told. */
export interface Told {
  readonly code: string;
  readonly remaining: number;
}

/** A decision, or why there is none. The status is that of HTTP or gRPC; null when there was no answer at all. */
export type FrontAnswer =
  | { readonly overall: string; readonly told: readonly Told[] }
  | { readonly status: number | null; readonly error: string };

/** A client with a connection of its own to one front of the service. */
export interface FrontClient {
  ask(request: RateLimitRequest): Promise<FrontAnswer>;
  close(): void;
}

/** A caller of gRPC, by a client that is not ours. */
export function grpcFront(address: string): FrontClient {
  const client = new GrpcClient(dialled(address));
  return {
    async ask(request) {
      const { status, message, response } = await client.unary(
        SHOULD_RATE_LIMIT_PATH,
        encodeRateLimitRequest(request),
      );
      if (status !== 0) return { status, error: message };
      const { overallCode, statuses } = decodeRateLimitResponse(response);
      return {
        overall: CODE_NAMES[overallCode],
        told: statuses.map(each => ({ code: CODE_NAMES[each.code], remaining: each.limitRemaining })),
      };
    },
    close: () => client.close(),
  };
}

/** A caller of `/json`, by Node's own client. */
export function jsonFront(address: string): FrontClient {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    async ask(request) {
      const { status, text } = await post(agent, address, JSON.stringify(request)).catch(unanswered);
      if (status !== 200 && status !== 429) return { status, error: text };
      const { overallCode, statuses } = JSON.parse(text) as JsonResponse;
      // What is at its default is left out.
      const told = statuses.map(each => ({ code: each.code, remaining: each.limitRemaining ?? 0 }));
      const overall =
        (overallCode === 'OK') === (status === 200) ? overallCode : `${overallCode} as ${status}`;
      return { overall, told };
    },
    close: () => agent.destroy(),
  };
}

interface JsonResponse {
  readonly overallCode: string;
  readonly statuses: readonly { readonly code: string; readonly limitRemaining?: number }[];
}

interface HttpAnswer {
  readonly status: number | null;
  readonly text: string;
}

function unanswered(failure: Error): HttpAnswer {
  return { status: null, text: failure.message };
}

function post(agent: Agent, address: string, body: string): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-length': Buffer.byteLength(body) };
    const sent = startRequest(`http://${address}/json`, { agent, method: 'POST', headers }, response => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => (text += part));
      response.once('end', () => resolve({ status: response.statusCode ?? null, text }));
      response.once('error', reject);
    });
    sent.once('error', reject);
    sent.end(body);
  });
}
