import { describeFlags } from '../terminal/flags.ts';

/** Flags that make a request. */
export const REQUEST_FLAGS = {
  domain: { kind: 'text', placeholder: 'NAME', default: '', help: 'the domain to ask about' },
  descriptors: {
    kind: 'list',
    placeholder: 'K=V,K2=V2',
    help: 'one descriptor; give the flag again for each further one',
  },
  hits: {
    kind: 'text',
    placeholder: 'N',
    default: '1',
    help: 'hits to count on each descriptor; 0 counts nothing and reports the present state',
  },
  refund: { kind: 'switch', help: 'give the hits back instead of counting them' },
} as const;

/** Flags of `sluice client`. The first three and the TLS ones are those of the reference implementation's client. */
export const CLIENT_FLAGS = {
  'dial-string': {
    kind: 'text',
    placeholder: 'ADDRESS',
    default: 'localhost:8081',
    help: 'where the service listens for gRPC: host:port, or unix:/path of a socket',
  },
  ...REQUEST_FLAGS,
  timeout: { kind: 'text', placeholder: 'DURATION', default: '5s', help: 'how long to wait for the answer' },
  json: { kind: 'switch', help: 'print the response as one line of JSON' },
  'fail-over-limit': { kind: 'switch', help: 'exit with status 1 when the answer is OVER_LIMIT' },
  'grpc-use-tls': { kind: 'switch', help: 'connect with TLS' },
  'grpc-server-ca-file': {
    kind: 'text',
    placeholder: 'FILE',
    default: '',
    help: 'PEM file of the CA that signed the server certificate; without it, the well-known CAs',
  },
  'grpc-cert-file': {
    kind: 'text',
    placeholder: 'FILE',
    default: '',
    help: 'PEM file of the client certificate, where the service asks for one',
  },
  'grpc-key-file': {
    kind: 'text',
    placeholder: 'FILE',
    default: '',
    help: 'PEM file of the key of the client certificate',
  },
} as const;

export const CLIENT_USAGE = `Usage: sluice client --domain NAME --descriptors K=V[,K2=V2...] [flags]

Asks a running service for one decision and prints it.

Flags:
${describeFlags(CLIENT_FLAGS)}
One dash does as well as two, and "_" as "-": -dial_string is --dial-string. In a descriptor, a comma ends a pair and
the first "=" ends a key, so a value may hold "=" but no comma.

Exit status: 0 a decision was made, 1 it is OVER_LIMIT and --fail-over-limit was given, 2 no decision was made.

Example:
  sluice client --domain shop --descriptors user=anna,path=/checkout --descriptors user=anna
`;
