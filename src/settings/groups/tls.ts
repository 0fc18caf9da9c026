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
  title: 'TLS for the gRPC server',
  introduction: 'Encryption of the gRPC port and verification of client certificates; see docs/tls.md.',
  settings: {
    grpcServerUseTls: setting({
      names: ['GRPC_SERVER_USE_TLS'],
      kind: bool,
      default: false,
      help:
        'Serve gRPC over TLS (1.2 or 1.3) only. The certificate, key and CA files are reloaded when they ' +
        'change.',
    }),
    grpcServerTlsCert: setting({
      names: ['GRPC_SERVER_TLS_CERT'],
      kind: path,
      default: '',
      help: 'PEM file with the certificate of the gRPC server, followed by intermediate certificates, if any.',
    }),
    grpcServerTlsKey: setting({
      names: ['GRPC_SERVER_TLS_KEY'],
      kind: path,
      default: '',
      help: 'PEM file with the private key of the gRPC server certificate, without a passphrase.',
    }),
    grpcClientTlsCaCert: setting({
      names: ['GRPC_CLIENT_TLS_CACERT'],
      kind: path,
      default: '',
      help:
        'PEM file with the root certificates of the CAs that client certificates must be signed by. If it ' +
        'is set, every client must present a certificate, and other CAs are not trusted. Requires ' +
        '`GRPC_SERVER_USE_TLS`.',
    }),
    grpcClientTlsSan: setting({
      names: ['GRPC_CLIENT_TLS_SAN'],
      kind: nameInCertificate,
      default: '',
      help:
        'Subject alternative name that the certificate of a client must contain. Requires ' +
        '`GRPC_CLIENT_TLS_CACERT`.',
    }),
  },
} as const;
