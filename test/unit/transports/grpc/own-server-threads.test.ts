import t from 'tap';
import { sharedPortExam } from '../../../exam/grpc-server.ts';
import { GrpcThreads } from '../../../support/threads/threaded-grpc-server.ts';

// The servers of two threads, as serving threads have them: which thread has a connection is up to the system.
const threads = new GrpcThreads(t, 2);

sharedPortExam(t, options => threads.server(options));

t.test('both threads had calls', async t => {
  t.ok(
    threads.calls.every(calls => calls > 0),
    threads.calls.join(' and '),
  );
});
