import { ByteWriter } from '../base/bytes.ts';
import type { JsonObject } from '../base/json.ts';
import { writeStruct } from './struct.ts';
import { readerOf, type WireReader, writeBytes, writeText, writeUint } from './wire.ts';

/** Path of the method `AggregatedDiscoveryService.StreamAggregatedResources`. */
export const STREAM_RESOURCES_PATH =
  '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources';

/** Field numbers of `DiscoveryRequest`, `Node`, `google.rpc.Status`, `DiscoveryResponse` and `google.protobuf.Any`. */
const REQUEST = { version: 1, node: 2, typeUrl: 4, nonce: 5, errorDetail: 6 } as const;
const NODE = { id: 1, metadata: 3, userAgentName: 6 } as const;
const STATUS = { code: 1, message: 2 } as const;
const RESPONSE = { version: 1, resources: 2, typeUrl: 4, nonce: 5 } as const;
const ANY = { typeUrl: 1, value: 2 } as const;

/** `google.rpc.Code.INVALID_ARGUMENT`. */
const INVALID_ARGUMENT = 3;

/** A request on a stream: a subscription, an ACK, or a NACK (with `refusal`). */
interface DiscoveryRequest {
  /** See {@link encodeNode}. */
  readonly node: Uint8Array;
  readonly typeUrl: string;
  /** The last accepted version; empty for none. */
  readonly version: string;
  /** The nonce of the response that is accepted or refused; empty in the first request of a stream. */
  readonly nonce: string;
  /** Why the response is refused; empty if it is accepted. */
  readonly refusal: string;
}

/** One resource, as encoded message of its own type. */
export interface Resource {
  readonly typeUrl: string;
  readonly value: Uint8Array;
}

/** A state-of-the-world response of an xDS server. */
export interface DiscoveryResponse {
  readonly version: string;
  readonly nonce: string;
  readonly typeUrl: string;
  readonly resources: readonly Resource[];
}

/** Maximum number of decoded resources, because each one uses memory even if it is short. */
export const MAX_RESOURCES = 100_000;

/** Encodes the `Node` that identifies the client. `metadata` is sent even if it is empty. */
export function encodeNode(node: { readonly id: string; readonly metadata: JsonObject }): Uint8Array {
  const writer = new ByteWriter();
  const metadata = new ByteWriter();
  writeStruct(metadata, node.metadata);
  writeText(writer, NODE.id, node.id);
  writeBytes(writer, NODE.metadata, metadata.view());
  writeText(writer, NODE.userAgentName, 'sluice');
  return writer.take();
}

export function encodeDiscoveryRequest(request: DiscoveryRequest): Uint8Array {
  const writer = new ByteWriter();
  writeText(writer, REQUEST.version, request.version);
  writeBytes(writer, REQUEST.node, request.node);
  writeText(writer, REQUEST.typeUrl, request.typeUrl);
  writeText(writer, REQUEST.nonce, request.nonce);
  if (request.refusal !== '') {
    const status = new ByteWriter();
    writeUint(status, STATUS.code, INVALID_ARGUMENT);
    writeText(status, STATUS.message, request.refusal);
    writeBytes(writer, REQUEST.errorDetail, status.view());
  }
  return writer.take();
}

/**
 * Decodes a response. Resources are views of `bytes`. At most one more than {@link MAX_RESOURCES} is decoded, so that
 * the caller can detect the excess. Texts must be valid UTF-8, because they are sent back to the server.
 *
 * @throws WireFault if the bytes are not a `DiscoveryResponse`
 */
export function decodeDiscoveryResponse(bytes: Uint8Array): DiscoveryResponse {
  const reader = readerOf(bytes);
  let version = '';
  let nonce = '';
  let typeUrl = '';
  const resources: Resource[] = [];
  while (reader.next()) {
    if (reader.field === RESPONSE.version) version = reader.checkedText();
    else if (reader.field === RESPONSE.typeUrl) typeUrl = reader.checkedText();
    else if (reader.field === RESPONSE.nonce) nonce = reader.checkedText();
    else if (reader.field === RESPONSE.resources && resources.length <= MAX_RESOURCES) {
      resources.push(reader.nested(readResource));
    } else reader.skip();
  }
  return { version, nonce, typeUrl, resources };
}

function readResource(reader: WireReader): Resource {
  let typeUrl = '';
  let value: Uint8Array = new Uint8Array(0);
  while (reader.next()) {
    if (reader.field === ANY.typeUrl) typeUrl = reader.checkedText();
    else if (reader.field === ANY.value) value = reader.view();
    else reader.skip();
  }
  return { typeUrl, value };
}
