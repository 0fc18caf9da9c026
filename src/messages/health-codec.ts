import { isUtf8 } from 'node:buffer';
import { ByteWriter } from '../base/bytes.ts';
import { WireFault, WireReader, writeBytes, writeText, writeUint } from './wire.ts';

/** `grpc.health.v1.HealthCheckResponse.ServingStatus`. */
export const SERVING_STATUS = { unknown: 0, serving: 1, notServing: 2, serviceUnknown: 3 } as const;
export type ServingStatus = (typeof SERVING_STATUS)[keyof typeof SERVING_STATUS];

/** `HealthCheckRequest { 1 service: string }`. */
export function encodeHealthCheckRequest(service: string): Uint8Array {
  const writer = new ByteWriter();
  writeText(writer, 1, service);
  return writer.take();
}

/**
 * The requested service name.
 *
 * @throws WireFault if the bytes are not a valid message
 */
export function decodeHealthCheckRequest(bytes: Uint8Array): string {
  const reader = readerOf(bytes);
  let service = '';
  while (reader.next()) {
    if (reader.field === 1) service = readName(reader);
    else reader.skip();
  }
  return service;
}

/** `HealthCheckResponse { 1 status: ServingStatus }`. */
export function encodeHealthCheckResponse(status: ServingStatus): Uint8Array {
  const writer = new ByteWriter(16);
  writeUint(writer, 1, status);
  return writer.take();
}

/**
 * The status in a response. Undefined numbers become `unknown`.
 *
 * @throws WireFault if the bytes are not a valid message
 */
export function decodeHealthCheckResponse(bytes: Uint8Array): ServingStatus {
  const reader = readerOf(bytes);
  let status: ServingStatus = SERVING_STATUS.unknown;
  while (reader.next()) {
    if (reader.field === 1) status = servingStatus(reader.uint32());
    else reader.skip();
  }
  return status;
}

/**
 * Checks a `HealthListRequest`, which has no fields.
 *
 * @throws WireFault if the bytes are not a valid message
 */
export function checkHealthListRequest(bytes: Uint8Array): void {
  const reader = readerOf(bytes);
  while (reader.next()) reader.skip();
}

/** `HealthListResponse { 1 statuses: map<string, HealthCheckResponse> }`. */
export function encodeHealthListResponse(statuses: ReadonlyMap<string, ServingStatus>): Uint8Array {
  const writer = new ByteWriter();
  const entry = new ByteWriter();
  for (const [service, status] of statuses) {
    entry.reset();
    writeText(entry, 1, service);
    writeBytes(entry, 2, encodeHealthCheckResponse(status));
    writeBytes(writer, 1, entry.view());
  }
  return writer.take();
}

/**
 * The statuses in a response by service name.
 *
 * @throws WireFault if the bytes are not a valid message
 */
export function decodeHealthListResponse(bytes: Uint8Array): Map<string, ServingStatus> {
  const reader = readerOf(bytes);
  const statuses = new Map<string, ServingStatus>();
  while (reader.next()) {
    if (reader.field === 1) readListEntry(reader.view(), statuses);
    else reader.skip();
  }
  return statuses;
}

function readListEntry(bytes: Uint8Array, statuses: Map<string, ServingStatus>): void {
  const reader = readerOf(bytes);
  let service = '';
  let status: ServingStatus = SERVING_STATUS.unknown;
  while (reader.next()) {
    if (reader.field === 1) service = readName(reader);
    else if (reader.field === 2) status = decodeHealthCheckResponse(reader.view());
    else reader.skip();
  }
  statuses.set(service, status);
}

function readerOf(bytes: Uint8Array): WireReader {
  const reader = new WireReader();
  reader.open(bytes, 0, bytes.length);
  return reader;
}

/** Strings must be valid UTF-8 (protobuf.dev, "Encoding": strings). */
function readName(reader: WireReader): string {
  const at = reader.position;
  const name = reader.view();
  if (!isUtf8(name)) throw new WireFault('the service name is not valid UTF-8', at);
  return Buffer.from(name).toString('utf8');
}

function servingStatus(value: number): ServingStatus {
  const known: readonly number[] = Object.values(SERVING_STATUS);
  return known.includes(value) ? (value as ServingStatus) : SERVING_STATUS.unknown;
}
