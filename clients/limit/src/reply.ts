import { type ClientHttp2Stream, constants, type IncomingHttpHeaders } from 'node:http2';
import { NoDecision, type NoDecisionCode } from './no-decision.ts';

/** Answers are at most a few KiB. */
const MAX_REPLY_BYTES = 1_048_576;
/** Byte for the compression, and the length of the message. */
const PREFIX_BYTES = 5;
const GRPC_OK = '0';
/** By gRPC status what it means; other statuses are errors of the service. */
const CODES: Readonly<Record<string, NoDecisionCode>> = { 4: 'timeout', 14: 'unavailable' };

/** What came back on a stream: the message of the answer, the reason for none, or null if the call was not processed. */
export type Outcome = Buffer | NoDecision | null;

/** Reads the answer of a unary gRPC call. @param done called once, when the stream has closed */
export function readReply(stream: ClientHttp2Stream, done: (outcome: Outcome) => void): void {
  let headers: IncomingHttpHeaders = {};
  let trailers: IncomingHttpHeaders = {};
  let bytes: Buffer | null = null;
  let cause: Error | undefined;
  let isTooLarge = false;
  stream.on('response', received => {
    headers = received;
  });
  stream.on('trailers', received => {
    trailers = received;
  });
  stream.on('data', (chunk: Buffer) => {
    bytes = bytes === null ? chunk : Buffer.concat([bytes, chunk]);
    if (bytes.length <= MAX_REPLY_BYTES) return;
    isTooLarge = true;
    stream.close(constants.NGHTTP2_CANCEL);
  });
  stream.on('error', error => {
    cause = error;
  });
  stream.on('close', () => {
    const status = trailers['grpc-status'] ?? headers['grpc-status'];
    const httpStatus = headers[':status'] ?? 200;
    if (isTooLarge) done(errorAnswer(`more than ${MAX_REPLY_BYTES} bytes`));
    else if (status === GRPC_OK) done(messageIn(bytes));
    else if (status !== undefined)
      done(failureOf(String(status), trailers['grpc-message'] ?? headers['grpc-message']));
    else if (httpStatus !== 200) done(errorAnswer(`HTTP status ${httpStatus}: it is not a gRPC service`));
    else if (stream.rstCode === constants.NGHTTP2_REFUSED_STREAM) done(null);
    else
      done(new NoDecision('unavailable', 'The connection to the service was lost before the answer.', cause));
  });
}

function messageIn(bytes: Buffer | null): Buffer | NoDecision {
  const isWhole =
    bytes !== null && bytes.length >= PREFIX_BYTES && bytes.readUInt32BE(1) === bytes.length - PREFIX_BYTES;
  return isWhole && bytes[0] === 0
    ? bytes.subarray(PREFIX_BYTES)
    : errorAnswer('a message that is compressed or incomplete');
}

/** @param message `grpc-message`, which is percent-encoded */
function failureOf(status: string, message: unknown): NoDecision {
  const text = typeof message === 'string' && message !== '' ? `: ${decoded(message)}` : '';
  return errorAnswer(`gRPC status ${status}${text}`, CODES[status]);
}

function errorAnswer(what: string, code: NoDecisionCode = 'error_answer'): NoDecision {
  return new NoDecision(code, `The service answered with ${what}.`);
}

function decoded(message: string): string {
  try {
    return decodeURIComponent(message);
  } catch {
    return message;
  }
}
