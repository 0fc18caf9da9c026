import { HOUR_MS, SECOND_MS } from '../../base/clock.ts';
import { anyText, bool, duration, file, flag, float, integer, setting } from '../kinds/kinds.ts';
import { headerList, metadata, xdsServers } from '../kinds/xds-kinds.ts';
import { nameInCertificate } from './servers.ts';

const wait = duration({ min: 1, max: 24 * HOUR_MS });

/** Default limit of gRPC for received messages. */
export const DEFAULT_MESSAGE_BYTES = 4_194_304;

/** The limit for a directory of rule files. */
const MOST_MESSAGE_BYTES = 268_435_456;

/** The server that rules come from with `CONFIG_TYPE=GRPC_XDS_SOTW` (spec 2.7). */
export const xds = {
  title: 'Rules from an xDS server',
  introduction:
    'The xDS servers that provide the rules when `CONFIG_TYPE` is `GRPC_XDS_SOTW`; see ' +
    'docs/rules-from-xds.md.',
  settings: {
    xdsServerUrl: setting({
      names: ['CONFIG_GRPC_XDS_SERVER_URL'],
      kind: xdsServers,
      default: [{ target: 'localhost:18000', tls: null }],
      help:
        'Address of the xDS server, or a comma-separated list of several servers whose rules are ' +
        'combined. Addresses that start with `https://` use TLS and those with `http://` do not, ' +
        'regardless of `CONFIG_GRPC_XDS_SERVER_USE_TLS`.',
    }),
    xdsNodeId: setting({
      names: ['CONFIG_GRPC_XDS_NODE_ID'],
      kind: anyText,
      default: 'default',
      help:
        'Node ID sent to the xDS server. With several servers, one ID for all of them, or a ' +
        'comma-separated list with one ID for each server in the same order.',
    }),
    xdsNodeMetadata: setting({
      names: ['CONFIG_GRPC_XDS_NODE_METADATA'],
      kind: metadata,
      default: {},
      help:
        'Node metadata sent to the xDS server: JSON, or a comma-separated list of `key=value` pairs. List ' +
        'entries without `=` are ignored and list values are strings.',
    }),
    xdsHeaders: setting({
      names: ['CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS'],
      kind: headerList,
      default: [],
      help:
        'Headers sent to every xDS server, such as credentials, as a comma-separated list of `name:value` ' +
        'pairs. Never printed.',
      secret: true,
    }),
    xdsConnectRetryMs: setting({
      names: ['CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL'],
      kind: wait,
      default: 3 * SECOND_MS,
      help: 'Delay between connection attempts while an xDS server is unreachable.',
    }),
    xdsBackoffInitialMs: setting({
      names: ['XDS_CLIENT_BACKOFF_INITIAL_INTERVAL'],
      kind: wait,
      default: 10 * SECOND_MS,
      help: 'Initial delay before Sluice opens a new xDS stream after one has ended.',
    }),
    xdsBackoffMaxMs: setting({
      names: ['XDS_CLIENT_BACKOFF_MAX_INTERVAL'],
      kind: wait,
      default: 60 * SECOND_MS,
      help:
        'Maximum delay before Sluice opens a new xDS stream after one has ended. If it is not greater ' +
        'than `XDS_CLIENT_BACKOFF_INITIAL_INTERVAL`, every delay is this long.',
    }),
    xdsBackoffFactor: setting({
      names: ['XDS_CLIENT_BACKOFF_RANDOM_FACTOR'],
      kind: float({ min: -100, max: 100 }),
      default: 0.5,
      help:
        'How fast the delay between xDS streams grows while no response arrives. A value from 0 to 1 is ' +
        'the increase: `0.5` makes each delay 1.5 times as long as the previous one. A value above 1 is ' +
        'the factor itself. `0` or less doubles the delay.',
    }),
    xdsBackoffJitter: setting({
      names: ['XDS_CLIENT_BACKOFF_JITTER'],
      kind: bool,
      default: true,
      help:
        'Add random jitter to the delay between xDS streams so that many instances do not reconnect at ' +
        'the same moment.',
    }),
    xdsMaxMessageBytes: setting({
      names: ['XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES'],
      kind: integer({ min: 0, max: MOST_MESSAGE_BYTES }),
      default: 0,
      help: 'Maximum size in bytes of a response of an xDS server. `0` is 4 MiB.',
    }),
    xdsUseTls: flag(
      ['CONFIG_GRPC_XDS_SERVER_USE_TLS'],
      'Connect over TLS to xDS servers whose address has no scheme. The certificate, key and CA files ' +
        'are read again for each connection.',
    ),
    xdsTlsCaCert: file(
      ['CONFIG_GRPC_XDS_SERVER_TLS_CACERT'],
      'PEM file with CA certificates to verify xDS servers with, in addition to those of the system, of ' +
        'Node.js and of `NODE_EXTRA_CA_CERTS`.',
    ),
    xdsTlsClientCert: file(
      ['CONFIG_GRPC_XDS_CLIENT_TLS_CERT'],
      'PEM file with the client certificate that Sluice presents to xDS servers.',
    ),
    xdsTlsClientKey: file(
      ['CONFIG_GRPC_XDS_CLIENT_TLS_KEY'],
      'PEM file with the private key of the client certificate for xDS servers, without a passphrase.',
    ),
    xdsTlsServerName: setting({
      names: ['CONFIG_GRPC_XDS_SERVER_TLS_SAN'],
      kind: nameInCertificate,
      default: '',
      help:
        'Name that the certificate of an xDS server must be valid for, if it is not the host of its ' +
        'address.',
    }),
  },
} as const;
