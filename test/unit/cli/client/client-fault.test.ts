import { status } from '@grpc/grpc-js';
import t from 'tap';
import { type CallTarget, describeFailedCall } from '../../../../src/cli/client/client-call.ts';

const PLAIN: CallTarget = { address: 'limits:8081', tls: null, timeoutMs: 1_500 };
const TLS: CallTarget = { ...PLAIN, tls: { caFile: '', certFile: '', keyFile: '' } };

/** A failed call without a connection, before any TLS handshake ended. */
const LOST = { code: status.UNAVAILABLE, connected: false, secured: false };

function lostConnection(target: CallTarget, details: string): string {
  return describeFailedCall(target, { ...LOST, details });
}

/** As `@grpc/grpc-js` wraps the reason of a failed connection. */
function wrapped(reason: string): string {
  return `No connection established. Last error: ${reason}. Resolution note: `;
}

t.test('an unknown host is distinguished from an unreachable one', async t => {
  t.equal(
    lostConnection(PLAIN, 'Name resolution failed for target dns:limits:8081'),
    'no connection to limits:8081: Name resolution failed for target dns:limits:8081. Check the host in --dial-string.',
  );
});

t.test('a peer that speaks another protocol is asked about by the way it was called', async t => {
  const details = wrapped('Protocol error (2026-07-01T09:09:31.388Z)');
  t.equal(
    lostConnection(PLAIN, details),
    'no connection to limits:8081: Protocol error. Is it the gRPC port of the service, and does it require --grpc-use-tls?',
  );
  t.match(lostConnection(TLS, details), /, and does it use TLS\?$/);
});

t.test('a certificate for another host is explained', async t => {
  const reason = "Error [ERR_TLS_CERT_ALTNAME_INVALID]: Hostname/IP does not match certificate's altnames";
  t.match(
    lostConnection(TLS, wrapped(reason)),
    /^no connection to limits:8081: Hostname\/IP does not match .* name the host in --dial-string/,
  );
});

t.test(
  'whatever the moment, a connection that the server closes after the handshake may lack a client certificate',
  async t => {
    const withPair: CallTarget = { ...TLS, tls: { caFile: '', certFile: 'own.crt', keyFile: 'own.key' } };
    const closed = 'no connection to limits:8081: the server closed it after the TLS handshake.';
    for (const reason of [
      'Failed to connect (2026-07-01T09:09:31.388Z)',
      'Connection closed before starting HTTP/2 handshake',
      'read ECONNRESET (2026-07-01T09:09:31.388Z)',
      'Error: read ECONNRESET',
      'write EPIPE (2026-07-01T09:09:31.388Z)',
      'write ECONNRESET (2026-07-01T09:09:31.388Z)',
    ]) {
      const failed = { ...LOST, secured: true, details: wrapped(reason) };
      t.equal(
        describeFailedCall(TLS, failed),
        `${closed} If the service requires a client certificate, give --grpc-cert-file and --grpc-key-file.`,
        reason,
      );
      t.equal(
        describeFailedCall(withPair, failed),
        `${closed} The service may have rejected the client certificate own.crt: check its CA, its names and when it expires.`,
        reason,
      );
    }
  },
);

t.test('an alert about a certificate is about that of the client', async t => {
  for (const alert of [
    'tlsv13 alert certificate required',
    'ssl/tls alert bad certificate',
    'ssl/tls alert unsupported certificate',
    'ssl/tls alert certificate expired',
    'ssl/tls alert certificate unknown',
    'ssl/tls alert handshake failure',
    'tlsv1 alert unknown ca',
    'tlsv1 alert access denied',
  ]) {
    const details = wrapped(
      `Error: 80B2:error:0A00045C:SSL routines:ssl3_read_bytes:${alert}:../rec_layer_s3.c:918:`,
    );
    t.match(
      lostConnection(TLS, details),
      new RegExp(
        `${alert}\\. The service requires a client certificate that it trusts: give --grpc-cert-file`,
      ),
    );
  }
});

t.test('after the handshake, nobody is asked whether the port uses TLS', async t => {
  const details = wrapped('Protocol error (2026-07-01T09:09:31.388Z)');
  t.match(
    describeFailedCall(TLS, { ...LOST, secured: true, details }),
    /: Protocol error\. Is it the gRPC port of the service\?$/,
  );
});

t.test('a lost connection whose text is unknown is passed on whole', async t => {
  t.match(
    lostConnection(PLAIN, 'read ECONNRESET\u0007'),
    /limits:8081: read ECONNRESET\\u0007\. Is it the gRPC port/,
  );
});

t.test('a gRPC server without the service is not the service', async t => {
  const failed = { code: status.UNIMPLEMENTED, details: 'unknown method', connected: true, secured: false };
  t.match(describeFailedCall(PLAIN, failed), /^limits:8081 speaks gRPC but has no rate limit service \(v3\)/);
});

t.test('any other status goes by its name, or by its number where it has none', async t => {
  const failed = (code: number) => ({
    ...LOST,
    code,
    details: 'the domain may not be empty',
    connected: true,
  });
  t.equal(
    describeFailedCall(PLAIN, failed(status.INVALID_ARGUMENT)),
    'limits:8081 answered with INVALID_ARGUMENT: the domain may not be empty',
  );
  t.match(describeFailedCall(PLAIN, failed(99)), /answered with status 99:/);
});
