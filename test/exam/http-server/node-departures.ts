import type { Departure } from './exam.ts';

/** Outcomes that are due to the parser of Node.js, in the order of `docs/http.md`. */
export const NODE_DEPARTURES: readonly Departure[] = [
  {
    limit: 'Chunks larger than the largest body',
    outcome: 'silent',
    cases: [
      'chunk size beyond what a double counts',
      'chunk size of 32 bits',
      'chunk that says to be larger than the largest size',
    ],
  },
  {
    limit: 'Trailers that do not end',
    outcome: 'silent',
    cases: ['other bytes than CRLF at the end'],
  },
  { limit: 'HTTP versions other than 1.0 and 1.1', outcome: '505 closed', cases: ['HTTP/1.2'] },
];
