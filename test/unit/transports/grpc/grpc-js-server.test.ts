import t from 'tap';
import { GrpcJsServer } from '../../../../src/transports/grpc/grpc-js-server.ts';
import { grpcServerExam } from '../../../exam/grpc-server.ts';

const UNFINISHED = 'the library takes what is unfinished for nothing';
const COMPRESSION = 'the library knows gzip and deflate, and ignores the flag where no encoding is named';
const MEDIA_TYPES = 'the library compares the beginning of the text';
const METHODS = 'the library does not look at the HTTP method';
const TIMEOUTS = 'the library ignores a timeout that it cannot read';

grpcServerExam(t, options => new GrpcJsServer(options), {
  'a message and a half is UNIMPLEMENTED': UNFINISHED,
  'part of a prefix is INTERNAL': UNFINISHED,
  'part of a message is INTERNAL': UNFINISHED,
  'a flag that is neither 0 nor 1 is INTERNAL': COMPRESSION,
  'a compressed message of a call with grpc-encoding null is INTERNAL': COMPRESSION,
  'a compressed message of a call with grpc-encoding identity is INTERNAL': COMPRESSION,
  'a message compressed of a call with another encoding is UNIMPLEMENTED, and the answer names the accepted encodings':
    COMPRESSION,
  'a message not compressed of a call with another encoding is UNIMPLEMENTED, and the answer names the accepted encodings':
    COMPRESSION,
  'the content type "application/grpc-web" is answered with 415': MEDIA_TYPES,
  'the content type "application/grpcx" is answered with 415': MEDIA_TYPES,
  'the content type "Application/GRPC" is one of gRPC': MEDIA_TYPES,
  'the method GET is answered with 405 and the one that is allowed': METHODS,
  'the method HEAD is answered with 405 and the one that is allowed': METHODS,
  'the method OPTIONS is answered with 405 and the one that is allowed': METHODS,
  'the method PUT is answered with 405 and the one that is allowed': METHODS,
  'the timeout "123456789S" is INTERNAL': TIMEOUTS,
  'the timeout "-1S" is INTERNAL': TIMEOUTS,
  'the timeout "1.5S" is INTERNAL': TIMEOUTS,
  'the longest timeouts leave a call its time': 'the library gives them to timers that overflow',
  'a stream of requests that ends with a message with a flag that is neither 0 nor 1 is refused': COMPRESSION,
  'a stream of requests that ends with a compressed message without an encoding is refused': COMPRESSION,
  'a stream of requests that ends with half a message is refused': UNFINISHED,
  'a method hears once that the caller of a stream of requests has left':
    'the library takes a reset for the end of the requests too',
  'callers of HTTP/1.1 get an answer that they can read': 'the library closes without a word',
});
