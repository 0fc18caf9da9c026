import { join } from 'node:path';
import type { Test } from 'tap';
import { tempDirectory } from '../support/temp-directory.ts';
import { examineFailures, examineStreams, examineUnaryCalls } from './grpc-calls.ts';
import { examineCompression } from './grpc-compression.ts';
import { examineConnections, examineStop } from './grpc-connections.ts';
import { Examinee, type KnownFailures, type MakeGrpcServer } from './grpc-examinee.ts';
import { examineTcpListen, examineUnixListen } from './grpc-listen.ts';
import { examineHeaders, examineMessages, examineWrongMessages } from './grpc-messages.ts';

/** Requirements for every gRPC server, on TCP and on a unix socket, tested with third-party clients. */
export function grpcServerExam(t: Test, makeServer: MakeGrpcServer, knownFailures: KnownFailures = {}): void {
  const onTcp = new Examinee(makeServer, () => ({ host: '127.0.0.1', port: 0 }), knownFailures);
  const onUnix = new Examinee(
    makeServer,
    t => ({ path: join(tempDirectory(t), 'grpc.sock') }),
    knownFailures,
  );
  for (const [kind, examinee] of [
    ['TCP', onTcp],
    ['unix socket', onUnix],
  ] as const) {
    t.test(`on ${kind}`, async t => {
      examineConversation(t, examinee);
      t.strictSame([...examinee.unused], [], 'every known failure is one of a test');
    });
  }
  t.test('opening a port', async t => examineTcpListen(t, onTcp));
  t.test('opening a unix socket', async t => examineUnixListen(t, onUnix));
}

/**
 * The requirements for servers on a TCP port that several threads listen on. How the port is opened is tested where the
 * threads are started.
 */
export function sharedPortExam(t: Test, makeServer: MakeGrpcServer): void {
  examineConversation(t, new Examinee(makeServer, () => ({ host: '127.0.0.1', port: 0 })));
}

function examineConversation(t: Test, examinee: Examinee): void {
  examineUnaryCalls(t, examinee);
  examineMessages(t, examinee);
  examineWrongMessages(t, examinee);
  examineCompression(t, examinee);
  examineHeaders(t, examinee);
  examineStreams(t, examinee);
  examineFailures(t, examinee);
  examineConnections(t, examinee);
  examineStop(t, examinee);
}
