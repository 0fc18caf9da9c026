import { ByteWriter } from '../../../src/base/bytes.ts';
import { JsonFault } from '../../../src/messages/json-fault.ts';
import { jsonToRequest } from '../../../src/messages/json-request.ts';
import { decodedRequest } from './json-model.ts';

/** A document as text or, where text could not say it, as bytes. */
export type Document = string | Uint8Array;

/** The wire form of the request in a document. */
export function encoded(document: Document): Uint8Array {
  const writer = new ByteWriter(16);
  jsonToRequest(Buffer.from(document as string), writer);
  return writer.take();
}

/** The request in a document, as protobufjs reads what was encoded. */
export function read(document: Document): unknown {
  return decodedRequest(encoded(document));
}

/** Why a document is refused; throws when it is not. */
export function faultOf(document: Document): JsonFault {
  try {
    encoded(document);
  } catch (thrown) {
    if (thrown instanceof JsonFault) return thrown;
    throw thrown;
  }
  throw new Error(`accepted ${String(document).slice(0, 200)}`);
}

/** A document as part of a test's name: one line, with no control characters. */
export const shown = (document: Document): string =>
  JSON.stringify(Buffer.from(document as string).toString('latin1'));

// Documents, each with one thing in it.

export const entry = (content: string): string => `{"descriptors":[{"entries":[${content}]}]}`;
export const key = (text: string): string => entry(`{"key":${text}}`);
export const limit = (content: string): string => `{"descriptors":[{"limit":${content}}]}`;
export const ownHits = (text: string): string => `{"descriptors":[{"hitsAddend":${text}}]}`;

// The requests that protobufjs reads from such documents.

export const EMPTY = { domain: '', descriptors: [], hitsAddend: 0 };
export const withDescriptor = (descriptor: object): object => ({
  ...EMPTY,
  descriptors: [{ entries: [], limit: null, hitsAddend: null, isNegativeHits: false, ...descriptor }],
});
export const withKey = (text: string): object => withDescriptor({ entries: [{ key: text, value: '' }] });
export const withLimit = (requestsPerUnit: number, unit: number): object =>
  withDescriptor({ limit: { requestsPerUnit, unit } });
export const withOwnHits = (value: string): object => withDescriptor({ hitsAddend: { value } });
export const withHits = (hitsAddend: number): object => ({ ...EMPTY, hitsAddend });
