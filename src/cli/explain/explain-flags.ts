import { REQUEST_FLAGS } from '../client/client-flags.ts';
import { describeFlags } from '../terminal/flags.ts';

/** Flags of `sluice explain`. */
export const EXPLAIN_FLAGS = {
  'debug-address': {
    kind: 'text',
    placeholder: 'HOST:PORT',
    default: 'localhost:6070',
    help: 'the debug port of the service',
  },
  ...REQUEST_FLAGS,
  hits: { ...REQUEST_FLAGS.hits, help: 'hits that each descriptor would have' },
  timeout: { kind: 'text', placeholder: 'DURATION', default: '5s', help: 'how long to wait for the answer' },
  json: { kind: 'switch', help: 'print the explanation as one line of JSON' },
} as const;

export const EXPLAIN_USAGE = `Usage: sluice explain --domain NAME --descriptors K=V[,K2=V2...] [flags]

Asks a running service what it would answer to a request, and why: which rule matches each descriptor, the key and the
window, the count so far. Nothing is counted.

Flags:
${describeFlags(EXPLAIN_FLAGS)}
One dash does as well as two, and "_" as "-". In a descriptor, a comma ends a pair and the first "=" ends a key.

Exit status: 0 the request was explained, 2 it was not.

Example:
  sluice explain --domain shop --descriptors user=anna,path=/checkout
`;
