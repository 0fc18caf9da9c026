import { type Answer, errorAnswer } from '../answer.ts';

const TOO_LARGE = errorAnswer({
  code: 'head_too_large',
  message:
    'the head of the request is larger than HTTP_MAX_HEADER_BYTES; send fewer or shorter header fields',
});

const EXTENSIONS_TOO_LARGE = errorAnswer({
  code: 'body_too_large',
  message: 'the chunk extensions of the body are too long; send the body without them',
});

const TIMED_OUT = errorAnswer({
  code: 'request_timeout',
  message: 'the request did not arrive in time; send it again on a new connection',
});

const UNKNOWN_METHOD = errorAnswer({
  code: 'method_unknown',
  message: 'the method is unknown; the Allow field of an answer with status 405 lists the methods of a path',
});

/** A method of any token characters, a space, and the start of a possible target (RFC 9112, 3). */
const REQUEST_LINE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ [/*h]/;

/** Maximum length of a line that is inspected. */
const MAX_METHOD_LINE = 64;

export const VERSION_NOT_SUPPORTED = errorAnswer({
  code: 'version_not_supported',
  message: 'only HTTP/1.1 and HTTP/1.0 are supported',
});

/** Returns the answer to a request that Node.js could not parse. Codes that start with `HPE_` come from its parser. */
export function parseFailureAnswer(failure: Error): Answer {
  const code = 'code' in failure ? String(failure.code) : '';
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return TOO_LARGE;
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return EXTENSIONS_TOO_LARGE;
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return TIMED_OUT;
    case 'HPE_PAUSED_H2_UPGRADE':
      return VERSION_NOT_SUPPORTED;
    case 'HPE_INVALID_VERSION':
      // The parser reports the same code for a line that continues after its version.
      return reasonOf(failure) === 'Invalid HTTP version' ? VERSION_NOT_SUPPORTED : invalid(failure);
    case 'HPE_INVALID_METHOD':
      return REQUEST_LINE.test(lineOf(failure)) ? UNKNOWN_METHOD : invalid(failure);
    default:
      return invalid(failure);
  }
}

function invalid(failure: Error): Answer {
  return errorAnswer({
    code: 'bad_request',
    message: `the request is not valid HTTP/1.1: ${reasonOf(failure)}`,
  });
}

/** Returns the line that the parser was reading when it stopped. */
function lineOf(failure: Error): string {
  if (!('rawPacket' in failure && failure.rawPacket instanceof Buffer)) return '';
  const { rawPacket } = failure;
  const stopped = 'bytesParsed' in failure ? Number(failure.bytesParsed) : 0;
  const from = stopped === 0 ? 0 : rawPacket.lastIndexOf('\n', stopped - 1) + 1;
  return rawPacket.toString('latin1', from, from + MAX_METHOD_LINE);
}

function reasonOf(failure: Error): string {
  return 'reason' in failure && typeof failure.reason === 'string' ? failure.reason : failure.message;
}
