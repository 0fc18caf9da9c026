import t from 'tap';
import { explainTlsFailure } from '../../../../src/base/tls/client-tls.ts';

const ALL = {
  ca: 'X_CACERT',
  otherName: 'set X_SKIP=true',
  clientCertificate: 'X_CLIENT_CERT',
  plain: 'set X=false',
};

t.test('what OpenSSL says beside the reason is left out', async t => {
  const text =
    '80B2F7FFFF7F0000:error:0A00010B:SSL routines:tls_validate_record_header:wrong version number:../deps/tlsany_meth.c:77:\n';
  const shown = 'TLS: wrong version number (the server does not seem to use TLS; if so, set X=false)';
  t.equal(explainTlsFailure(text, ALL), shown);
  t.equal(explainTlsFailure(`write EPROTO ${text}`, ALL), shown);
});

t.test('a client without a setting for something does not name one', async t => {
  const few = { ca: 'X_CACERT', plain: 'set X=false' };
  t.match(
    explainTlsFailure("Hostname/IP does not match certificate's altnames: IP: 1.2.3.4", few),
    /\(the certificate of the server is for another name; connect by a name that it holds\)$/,
  );
  t.match(explainTlsFailure('TLS: tlsv13 alert certificate required', few), /no setting for\)$/);
  t.match(
    explainTlsFailure('TLS: tlsv1 alert unknown ca', few),
    /\(the server does not accept the client certificate\)$/,
  );
});

t.test('a reason that has nothing to do with TLS stays as it is', async t => {
  for (const reason of ['connect ECONNREFUSED 127.0.0.1:1', 'WRONGPASS invalid username-password pair', '']) {
    t.equal(explainTlsFailure(reason, ALL), reason);
  }
});
