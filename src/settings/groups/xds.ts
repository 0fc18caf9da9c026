import { HOUR_MS, SECOND_MS } from '../kinds/durations.ts';
import { anyText, bool, duration, float, integer, path } from '../kinds/kinds.ts';
import { setting } from '../kinds/setting.ts';
import { xdsServers } from '../kinds/xds-servers.ts';
import { headerList, metadata } from '../kinds/xds-texts.ts';
import { nameInCertificate } from './tls.ts';

const wait = duration({ min: 1, max: 24 * HOUR_MS });

/** What gRPC receives by default. */
export const DEFAULT_MESSAGE_BYTES = 4_194_304;

/** As much as a directory of rule files may hold. */
const MOST_MESSAGE_BYTES = 268_435_456;

/** The server that rules come from with `CONFIG_TYPE=GRPC_XDS_SOTW` (spec 2.7). */
export const xds = {
  title: 'Rules from an xDS server',
  settings: {
    xdsServerUrl: setting({
      names: ['CONFIG_GRPC_XDS_SERVER_URL'],
      kind: xdsServers,
      default: [{ target: 'localhost:18000', tls: null }],
      help:
        'Address of the xDS server, or of several servers whose rules are joined. `https://` before an address connects with ' +
        'TLS, `http://` without, whatever `CONFIG_GRPC_XDS_SERVER_USE_TLS` says.',
    }),
    xdsNodeId: setting({
      names: ['CONFIG_GRPC_XDS_NODE_ID'],
      kind: anyText,
      default: 'default',
      help:
        'Node id sent to the xDS server. With several servers, one id for all of them or a comma-separated list with one id ' +
        'for each server, in their order.',
    }),
    xdsNodeMetadata: setting({
      names: ['CONFIG_GRPC_XDS_NODE_METADATA'],
      kind: metadata,
      default: {},
      help: 'What the server is told besides. Of a list, parts without `=` are left out, and all values are texts.',
    }),
    xdsHeaders: setting({
      names: ['CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS'],
      kind: headerList,
      default: [],
      help: 'Headers that are sent to every xDS server, such as credentials. Never printed.',
      secret: true,
    }),
    xdsConnectRetryMs: setting({
      names: ['CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL'],
      kind: wait,
      default: 3 * SECOND_MS,
      help: 'Time between attempts while the server cannot be reached.',
    }),
    xdsBackoffInitialMs: setting({
      names: ['XDS_CLIENT_BACKOFF_INITIAL_INTERVAL'],
      kind: wait,
      default: 10 * SECOND_MS,
      help: 'First wait after a stream has ended, before the server is asked again.',
    }),
    xdsBackoffMaxMs: setting({
      names: ['XDS_CLIENT_BACKOFF_MAX_INTERVAL'],
      kind: wait,
      default: 60 * SECOND_MS,
      help: 'Longest of these waits. When it is not above the first one, every wait is this long.',
    }),
    xdsBackoffFactor: setting({
      names: ['XDS_CLIENT_BACKOFF_RANDOM_FACTOR'],
      kind: float({ min: -100, max: 100 }),
      default: 0.5,
      help:
        'By how much these waits grow while no response comes in between: `0.5` makes each half as long again as ' +
        'the one before. Above 1 it is the factor itself; 0 or less doubles.',
    }),
    xdsBackoffJitter: setting({
      names: ['XDS_CLIENT_BACKOFF_JITTER'],
      kind: bool,
      default: true,
      help: 'Wait a random time between the first wait and the grown one, so that many services do not ask at once.',
    }),
    xdsMaxMessageBytes: setting({
      names: ['XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES'],
      kind: integer({ min: 0, max: MOST_MESSAGE_BYTES }),
      default: 0,
      help: 'Maximum size of a response. `0` is 4 MiB.',
    }),
    xdsUseTls: setting({
      names: ['CONFIG_GRPC_XDS_SERVER_USE_TLS'],
      kind: bool,
      default: false,
      help: 'Connect with TLS to servers whose address has no scheme. The files below are read again for each connection.',
    }),
    xdsTlsCaCert: setting({
      names: ['CONFIG_GRPC_XDS_SERVER_TLS_CACERT'],
      kind: path,
      default: '',
      help: 'PEM file with CAs that may have signed the certificate of the server, in addition to those of the system, of Node.js and of `NODE_EXTRA_CA_CERTS`.',
    }),
    xdsTlsClientCert: setting({
      names: ['CONFIG_GRPC_XDS_CLIENT_TLS_CERT'],
      kind: path,
      default: '',
      help: 'PEM file with the certificate that is shown to the server.',
    }),
    xdsTlsClientKey: setting({
      names: ['CONFIG_GRPC_XDS_CLIENT_TLS_KEY'],
      kind: path,
      default: '',
      help: 'PEM file with the private key of that certificate, without a passphrase.',
    }),
    xdsTlsServerName: setting({
      names: ['CONFIG_GRPC_XDS_SERVER_TLS_SAN'],
      kind: nameInCertificate,
      default: '',
      help: 'Name that the certificate of the server must be valid for, instead of the host of its address.',
    }),
  },
} as const;
