import type { Departure } from './exam.ts';

/** What comes of the parser of Node.js, in the order of `docs/http.md`. */
export const NODE_DEPARTURES: readonly Departure[] = [
  {
    limit: 'Chunks that say to be larger than the largest body',
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
  { limit: 'Other versions than HTTP/1.0 and HTTP/1.1', outcome: '505 closed', cases: ['HTTP/1.2'] },
];
