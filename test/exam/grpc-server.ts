import { join } from 'node:path';
import type { Test } from 'tap';
import { tempDirectory } from '../support/temp-directory.ts';
import { examineBidi } from './grpc-bidi.ts';
import { examineFailures, examineStreams, examineUnaryCalls } from './grpc-calls.ts';
import { examineCompression } from './grpc-compression.ts';
import { examineConnections, examineStop } from './grpc-connections.ts';
import { Examinee, type KnownFailures, type MakeGrpcServer } from './grpc-examinee.ts';
import { examineTcpListen, examineUnixListen } from './grpc-listen.ts';
import { examineHeaders, examineMessages, examineWrongMessages } from './grpc-messages.ts';

/**
 * Requirements for every gRPC server, tested with third-party clients: all of them on TCP, and on a unix socket those in
 * which the kind of connection has a part. What messages and headers may contain is read above the connection.
 */
export function grpcServerExam(t: Test, makeServer: MakeGrpcServer, knownFailures: KnownFailures = {}): void {
  const onTcp = new Examinee(makeServer, () => ({ host: '127.0.0.1', port: 0 }), knownFailures);
  const onUnix = new Examinee(
    makeServer,
    t => ({ path: join(tempDirectory(t), 'grpc.sock') }),
    knownFailures,
  );
  t.test('on TCP', async t => {
    examineConversation(t, onTcp);
    t.strictSame([...onTcp.unused], [], 'every known failure is one of a test');
  });
  t.test('on a unix socket', async t => {
    examineUnaryCalls(t, onUnix);
    examineStreams(t, onUnix);
    examineBidi(t, onUnix);
    examineConnections(t, onUnix);
    examineStop(t, onUnix);
  });
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
  examineBidi(t, examinee);
  examineFailures(t, examinee);
  examineConnections(t, examinee);
  examineStop(t, examinee);
}
