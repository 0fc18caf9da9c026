import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js';
import { readerOf, WIRE, type WireReader } from '../../src/messages/wire.ts';
import type { CertificatePair } from './certificates.ts';

/** A span as it was exported. Ids are hexadecimal; `parent` is empty for the first of a trace. */
export interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parent: string;
  readonly kind: number;
  /** Milliseconds since the epoch. */
  readonly beganMs: number;
  readonly endedMs: number;
  /** Spans that it links to. */
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly failed: boolean;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  /** Attributes of the resource that it came with. */
  readonly resource: Readonly<Record<string, string | number | boolean>>;
}

/** What a receiver has got, and a way to wait for it. */
export class ReceivedSpans {
  readonly all: ReceivedSpan[] = [];
  #wake: () => void = () => {};

  /** Resolves with the first span for which `matches` holds, once it has come. */
  async first(matches: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan> {
    for (;;) {
      const found = this.all.find(matches);
      if (found !== undefined) return found;
      await new Promise<void>(resolve => {
        this.#wake = resolve;
      });
    }
  }

  /** Takes an `ExportTraceServiceRequest`. */
  take(message: Uint8Array): void {
    this.all.push(...spansOf(message));
    this.#wake();
  }
}

export interface OtlpReceiver {
  /** Value for `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly endpoint: string;
  readonly received: ReceivedSpans;
  close(): Promise<void>;
}

/** An OpenTelemetry collector over HTTP that only listens; with a certificate over HTTPS. */
export async function httpReceiver(pair?: CertificatePair): Promise<OtlpReceiver> {
  const received = new ReceivedSpans();
  const take = (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    request.on('data', chunk => chunks.push(chunk));
    request.on('end', () => {
      if (request.url === '/v1/traces') received.take(Buffer.concat(chunks));
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
    });
  };
  const server =
    pair === undefined
      ? createServer(take)
      : createTlsServer({ cert: pair.certificate, key: pair.key }, take);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return { endpoint: `${schemeOf(pair)}://127.0.0.1:${port}`, received, close };
}

function grpcCredentials(pair: CertificatePair | undefined): ServerCredentials {
  if (pair === undefined) return ServerCredentials.createInsecure();
  const { certificate, key } = pair;
  const own = { cert_chain: Buffer.from(certificate), private_key: Buffer.from(key) };
  return ServerCredentials.createSsl(null, [own]);
}

function schemeOf(pair: CertificatePair | undefined): string {
  return pair === undefined ? 'http' : 'https';
}

/** A collector that takes connections and never answers. */
export async function silentReceiver(): Promise<OtlpReceiver> {
  const connections = new Set<Socket>();
  const server = createTcpServer(socket => {
    connections.add(socket);
    socket.on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = async () => {
    for (const socket of connections) socket.destroy();
    server.close();
    await once(server, 'close');
  };
  const { port } = server.address() as AddressInfo;
  return { endpoint: `http://127.0.0.1:${port}`, received: new ReceivedSpans(), close };
}

/** A collector over gRPC; with a certificate over TLS. */
export async function grpcReceiver(pair?: CertificatePair): Promise<OtlpReceiver> {
  const received = new ReceivedSpans();
  const server = new Server();
  const asBytes = (bytes: Buffer) => bytes;
  server.register(
    '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
    (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) => {
      received.take(call.request);
      callback(null, Buffer.alloc(0));
    },
    asBytes,
    asBytes,
    'unary',
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', grpcCredentials(pair), (failure, bound) =>
      failure === null ? resolve(bound) : reject(failure),
    );
  });
  return {
    endpoint: `${schemeOf(pair)}://127.0.0.1:${port}`,
    received,
    close: async () => server.forceShutdown(),
  };
}

/** The fields of a message by number, each with its values in order; messages inside are left as bytes. */
function fieldsOf(bytes: Uint8Array): Map<number, (Uint8Array | number)[]> {
  const reader = readerOf(bytes);
  const fields = new Map<number, (Uint8Array | number)[]>();
  while (reader.next()) {
    const values = fields.get(reader.field) ?? [];
    fields.set(reader.field, values);
    if (reader.wireType === WIRE.bytes) values.push(reader.view());
    else if (reader.wireType === WIRE.varint) values.push(reader.uint64());
    else if (reader.wireType === WIRE.fixed64) values.push(fixed64(reader));
    else reader.skip();
  }
  return fields;
}

/** Only as exact as a double: 256 ns for a time of today. */
function fixed64(reader: WireReader): number {
  const { bytes, position } = reader;
  reader.skip();
  return Number(Buffer.from(bytes.buffer, bytes.byteOffset + position, 8).readBigUInt64LE());
}

function messages(bytes: Uint8Array, field: number): Uint8Array[] {
  return (fieldsOf(bytes).get(field) ?? []) as Uint8Array[];
}

function textOf(value: Uint8Array | number | undefined): string {
  return Buffer.from((value as Uint8Array | undefined) ?? []).toString('utf8');
}

function hexOf(value: Uint8Array | number | undefined): string {
  return Buffer.from((value as Uint8Array | undefined) ?? []).toString('hex');
}

/** Field numbers are those of opentelemetry/proto/trace/v1 and common/v1. */
function spansOf(request: Uint8Array): ReceivedSpan[] {
  return messages(request, 1).flatMap(resourceSpans => {
    const resource = Object.assign({}, ...messages(resourceSpans, 1).map(each => attributesOf(each, 1)));
    const spans = messages(resourceSpans, 2).flatMap(scopeSpans => messages(scopeSpans, 2));
    return spans.map(span => spanOf(span, resource));
  });
}

function spanOf(span: Uint8Array, resource: ReceivedSpan['resource']): ReceivedSpan {
  const fields = fieldsOf(span);
  const at = (field: number) => fields.get(field)?.[0];
  const status = at(15) === undefined ? undefined : fieldsOf(at(15) as Uint8Array).get(3)?.[0];
  return {
    name: textOf(at(5)),
    traceId: hexOf(at(1)),
    spanId: hexOf(at(2)),
    parent: hexOf(at(4)),
    kind: Number(at(6) ?? 0),
    beganMs: Number(at(7)) / 1e6,
    endedMs: Number(at(8)) / 1e6,
    links: messages(span, 13).map(link => {
      const of = fieldsOf(link);
      return { traceId: hexOf(of.get(1)?.[0]), spanId: hexOf(of.get(2)?.[0]) };
    }),
    failed: status === 2,
    attributes: attributesOf(span, 9),
    resource,
  };
}

function attributesOf(message: Uint8Array, field: number): Record<string, string | number | boolean> {
  return Object.fromEntries(
    messages(message, field).map(pair => {
      const fields = fieldsOf(pair);
      const value = fieldsOf(fields.get(2)?.[0] as Uint8Array);
      const [kind, [first]] = [...value][0];
      const read = kind === 1 ? textOf(first) : kind === 2 ? first === 1 : (first as number);
      return [textOf(fields.get(1)?.[0]), read];
    }),
  );
}
