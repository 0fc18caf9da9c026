import { ByteWriter } from '../../src/base/bytes.ts';
import { SERVING_STATUS, type ServingStatus } from '../../src/messages/health-codec.ts';
import { readerOf, writeText } from '../../src/messages/wire.ts';

/** `HealthCheckRequest { 1 service: string }`. */
export function encodeHealthCheckRequest(service: string): Uint8Array {
  const writer = new ByteWriter();
  writeText(writer, 1, service);
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
    if (reader.field === 1) service = reader.text();
    else if (reader.field === 2) status = decodeHealthCheckResponse(reader.view());
    else reader.skip();
  }
  statuses.set(service, status);
}

function servingStatus(value: number): ServingStatus {
  const known: readonly number[] = Object.values(SERVING_STATUS);
  return known.includes(value) ? (value as ServingStatus) : SERVING_STATUS.unknown;
}
