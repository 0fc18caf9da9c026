import { ByteWriter } from '../base/bytes.ts';
import { readerOf, writeBytes, writeText, writeUint } from './wire.ts';

/** `grpc.health.v1.HealthCheckResponse.ServingStatus`. */
export const SERVING_STATUS = { unknown: 0, serving: 1, notServing: 2, serviceUnknown: 3 } as const;
export type ServingStatus = (typeof SERVING_STATUS)[keyof typeof SERVING_STATUS];

/**
 * The service name of `HealthCheckRequest { 1 service: string }`.
 *
 * @throws WireFault if the bytes are not a valid message
 */
export function decodeHealthCheckRequest(bytes: Uint8Array): string {
  const reader = readerOf(bytes);
  let service = '';
  while (reader.next()) {
    if (reader.field === 1) service = reader.checkedText();
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
