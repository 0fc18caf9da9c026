import t from 'tap';
import { failureBlock, trailersOnlyBlock } from '../../../src/grpc/blocks.ts';
import { GRPC_STATUS, type GrpcStatus } from '../../../src/grpc/service.ts';

t.test('a failure says its own status and text, whatever failed before it', t => {
  const failures: [GrpcStatus, string][] = [
    [GRPC_STATUS.unknown, ''],
    [GRPC_STATUS.internal, 'one'],
    [GRPC_STATUS.internal, 'one'],
    [GRPC_STATUS.internal, 'other'],
    [GRPC_STATUS.unavailable, 'other'],
    [GRPC_STATUS.ok, ''],
  ];
  for (const [status, message] of failures)
    t.strictSame(failureBlock(status, message), trailersOnlyBlock(status, message));
  t.end();
});

t.test('failures one after the other with the same status and text are encoded once', t => {
  const first = failureBlock(GRPC_STATUS.internal, 'the text');
  t.equal(failureBlock(GRPC_STATUS.internal, 'the text'), first);
  t.end();
});
