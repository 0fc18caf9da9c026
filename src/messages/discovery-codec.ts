import { isUtf8 } from 'node:buffer';
import { ByteWriter } from '../base/bytes.ts';
import type { JsonObject } from '../base/json.ts';
import { writeStruct } from './struct.ts';
import { WireReader, writeBytes, writeText, writeUint } from './wire.ts';

/** Path of the method `AggregatedDiscoveryService.StreamAggregatedResources`. */
export const STREAM_RESOURCES_PATH =
  '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources';

/** Numbers of the fields, of `DiscoveryRequest`, its `Node`, its `google.rpc.Status`, and `DiscoveryResponse`. */
const REQUEST = { version: 1, node: 2, typeUrl: 4, nonce: 5, errorDetail: 6 } as const;
const NODE = { id: 1, metadata: 3, userAgentName: 6 } as const;
const STATUS = { code: 1, message: 2 } as const;
const RESPONSE = { version: 1, resources: 2, typeUrl: 4, nonce: 5 } as const;
const ANY = { typeUrl: 1, value: 2 } as const;

/** `google.rpc.Code.INVALID_ARGUMENT`. */
const INVALID_ARGUMENT = 3;

/** What a client says on a stream: it asks, accepts, or (with `refusal`) refuses. */
interface DiscoveryRequest {
  /** See {@link encodeNode}. */
  readonly node: Uint8Array;
  readonly typeUrl: string;
  /** The last version that was accepted; empty for none. */
  readonly version: string;
  /** The nonce of the response that this answers; empty in the first request of a stream. */
  readonly nonce: string;
  /** Why the response was refused; empty for no refusal. */
  readonly refusal: string;
}

/** One resource in the bytes of its own message. */
export interface Resource {
  readonly typeUrl: string;
  readonly value: Uint8Array;
}

/** The state of the world as a server sends it. */
export interface DiscoveryResponse {
  readonly version: string;
  readonly nonce: string;
  readonly typeUrl: string;
  readonly resources: readonly Resource[];
}

/** More resources than this are not kept: each takes memory, however short it is. */
export const MAX_RESOURCES = 100_000;

/** `Node`: who asks. Its metadata are sent even when there are none. */
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
 * Resources are views of `bytes`. There may be one more than {@link MAX_RESOURCES}, which says that there are too many.
 * @throws WireFault when the bytes are no `DiscoveryResponse`
 */
export function decodeDiscoveryResponse(bytes: Uint8Array): DiscoveryResponse {
  const reader = new WireReader();
  reader.open(bytes, 0, bytes.length);
  let version = '';
  let nonce = '';
  let typeUrl = '';
  const resources: Resource[] = [];
  while (reader.next()) {
    if (reader.field === RESPONSE.version) version = checkedText(reader);
    else if (reader.field === RESPONSE.typeUrl) typeUrl = checkedText(reader);
    else if (reader.field === RESPONSE.nonce) nonce = checkedText(reader);
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
    if (reader.field === ANY.typeUrl) typeUrl = checkedText(reader);
    else if (reader.field === ANY.value) value = reader.view();
    else reader.skip();
  }
  return { typeUrl, value };
}

/** Texts come back to their sender, so they must be what was sent: UTF-8, as protobuf asks for. */
function checkedText(reader: WireReader): string {
  const at = reader.position;
  const bytes = reader.view();
  if (!isUtf8(bytes)) throw reader.fault(`field ${reader.field} is not UTF-8`, at);
  return Buffer.from(bytes).toString();
}
