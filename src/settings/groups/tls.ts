import { isIP } from 'node:net';
import { bool, checkedText, path } from '../kinds/kinds.ts';
import { setting } from '../kinds/setting.ts';

/** A subject alternative name. */
export const nameInCertificate = checkedText({
  label: 'DNS name or IP address, empty for any',
  accepts: 'one DNS name or IP address, without scheme and port, or empty for any',
  holds: text => text === '' || isIP(text) !== 0 || /^(\*\.)?[A-Za-z0-9._-]{1,253}$/.test(text),
});

/** Encryption of the gRPC port and proof of who calls (spec 2.7 and 5). */
export const tls = {
  title: 'TLS of the gRPC server',
  settings: {
    grpcServerUseTls: setting({
      names: ['GRPC_SERVER_USE_TLS'],
      kind: bool,
      default: false,
      help: 'Serve gRPC over TLS (1.2 or 1.3) only. The files below are read again whenever they change.',
    }),
    grpcServerTlsCert: setting({
      names: ['GRPC_SERVER_TLS_CERT'],
      kind: path,
      default: '',
      help: 'PEM file with the certificate of the server, followed by those of the CAs between it and the root.',
    }),
    grpcServerTlsKey: setting({
      names: ['GRPC_SERVER_TLS_KEY'],
      kind: path,
      default: '',
      help: 'PEM file with the private key of that certificate, without a passphrase.',
    }),
    grpcClientTlsCaCert: setting({
      names: ['GRPC_CLIENT_TLS_CACERT'],
      kind: path,
      default: '',
      help:
        'PEM file with the root certificates of the CAs whose clients may call, and of no others. When it is ' +
        'set, every client must show a certificate. Needs `GRPC_SERVER_USE_TLS`.',
    }),
    grpcClientTlsSan: setting({
      names: ['GRPC_CLIENT_TLS_SAN'],
      kind: nameInCertificate,
      default: '',
      help:
        'Name that the certificate of a client must be valid for, in its subject alternative names. Needs ' +
        '`GRPC_CLIENT_TLS_CACERT`.',
    }),
  },
} as const;
