import { FRAME_HEADER_BYTES, readUint32 } from '../../../src/http2/frame/frame.ts';
import { HpackDecoder } from '../../../src/http2/hpack/decoder.ts';

const DECODER_OPTIONS = { maxTableSize: 4_096, maxListBytes: 65_536, maxFields: 100 };

/** gRPC status and message of the HEADERS frame at `at`, to stand behind other words; empty where they are unreadable. */
export function trailersText(bytes: Uint8Array, at: number, end: number): string {
  try {
    // Without the blocks before this one: fields that refer to them cannot be read.
    const { names, values } = new HpackDecoder(DECODER_OPTIONS).decode(bytes, at + FRAME_HEADER_BYTES, end);
    const of = (name: string): string => values[names.indexOf(name)] ?? 'none';
    return `: grpc-status ${of('grpc-status')}, grpc-message ${decodeURIComponent(of('grpc-message'))}`;
  } catch {
    return '';
  }
}

/** Code and text in the payload of a GOAWAY frame, to stand behind other words. */
export function goAwayText(bytes: Uint8Array, start: number, end: number): string {
  const text = Buffer.from(bytes.subarray(start + 8, end)).toString('latin1');
  return ` with code ${readUint32(bytes, start + 4)}: ${text}`;
}
