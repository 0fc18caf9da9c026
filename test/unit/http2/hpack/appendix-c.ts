import type { HeaderField } from '../../../../src/http2/hpack/encoder.ts';

/** A block of an example, what it stands for, and the dynamic table after it, the newest entry first. */
export interface ExampleStep {
  readonly hex: string;
  readonly fields: readonly HeaderField[];
  readonly table: readonly HeaderField[];
  readonly size: number;
}

/** Blocks that follow each other on one connection. */
export interface Example {
  /** Section of RFC 7541. */
  readonly section: string;
  readonly title: string;
  /** What the table is made smaller to before the first block. */
  readonly tableSize?: number;
  readonly steps: readonly ExampleStep[];
}

const SINGLE_FIELDS: readonly Example[] = [
  {
    section: 'C.2.1',
    title: 'literal with indexing',
    steps: [
      {
        hex: '400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572',
        fields: [['custom-key', 'custom-header']],
        table: [['custom-key', 'custom-header']],
        size: 55,
      },
    ],
  },
  {
    section: 'C.2.2',
    title: 'literal without indexing',
    steps: [
      {
        hex: '040c 2f73 616d 706c 652f 7061 7468',
        fields: [[':path', '/sample/path']],
        table: [],
        size: 0,
      },
    ],
  },
  {
    section: 'C.2.3',
    title: 'literal never indexed',
    steps: [
      {
        hex: '1008 7061 7373 776f 7264 0673 6563 7265 74',
        fields: [['password', 'secret']],
        table: [],
        size: 0,
      },
    ],
  },
  {
    section: 'C.2.4',
    title: 'indexed',
    steps: [{ hex: '82', fields: [[':method', 'GET']], table: [], size: 0 }],
  },
];

const AUTHORITY: HeaderField = [':authority', 'www.example.com'];
const NO_CACHE: HeaderField = ['cache-control', 'no-cache'];
const CUSTOM: HeaderField = ['custom-key', 'custom-value'];

/** What the requests of C.3 and C.4 say; only the octets differ. */
const REQUESTS: readonly Omit<ExampleStep, 'hex'>[] = [
  {
    fields: [[':method', 'GET'], [':scheme', 'http'], [':path', '/'], AUTHORITY],
    table: [AUTHORITY],
    size: 57,
  },
  {
    fields: [[':method', 'GET'], [':scheme', 'http'], [':path', '/'], AUTHORITY, NO_CACHE],
    table: [NO_CACHE, AUTHORITY],
    size: 110,
  },
  {
    fields: [[':method', 'GET'], [':scheme', 'https'], [':path', '/index.html'], AUTHORITY, CUSTOM],
    table: [CUSTOM, NO_CACHE, AUTHORITY],
    size: 164,
  },
];

const STATUS_302: HeaderField = [':status', '302'];
const STATUS_307: HeaderField = [':status', '307'];
const PRIVATE: HeaderField = ['cache-control', 'private'];
const DATE_21: HeaderField = ['date', 'Mon, 21 Oct 2013 20:13:21 GMT'];
const DATE_22: HeaderField = ['date', 'Mon, 21 Oct 2013 20:13:22 GMT'];
const LOCATION: HeaderField = ['location', 'https://www.example.com'];
const GZIP: HeaderField = ['content-encoding', 'gzip'];
const COOKIE: HeaderField = ['set-cookie', 'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1'];

/** What the responses of C.5 and C.6 say; the table holds 256 octets, so that entries are evicted. */
const RESPONSES: readonly Omit<ExampleStep, 'hex'>[] = [
  {
    fields: [STATUS_302, PRIVATE, DATE_21, LOCATION],
    table: [LOCATION, DATE_21, PRIVATE, STATUS_302],
    size: 222,
  },
  {
    fields: [STATUS_307, PRIVATE, DATE_21, LOCATION],
    table: [STATUS_307, LOCATION, DATE_21, PRIVATE],
    size: 222,
  },
  {
    fields: [[':status', '200'], PRIVATE, DATE_22, LOCATION, GZIP, COOKIE],
    table: [COOKIE, GZIP, DATE_22],
    size: 215,
  },
];

function withHex(steps: readonly Omit<ExampleStep, 'hex'>[], hex: readonly string[]): readonly ExampleStep[] {
  return steps.map((step, i) => ({ ...step, hex: hex[i] }));
}

/** The examples of RFC 7541, C.2 to C.6. */
export const EXAMPLES: readonly Example[] = [
  ...SINGLE_FIELDS,
  {
    section: 'C.3',
    title: 'requests without Huffman coding',
    steps: withHex(REQUESTS, [
      '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
      '8286 84be 5808 6e6f 2d63 6163 6865',
      '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
    ]),
  },
  {
    section: 'C.4',
    title: 'requests with Huffman coding',
    steps: withHex(REQUESTS, [
      '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
      '8286 84be 5886 a8eb 1064 9cbf',
      '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
    ]),
  },
  {
    section: 'C.5',
    title: 'responses without Huffman coding',
    tableSize: 256,
    steps: withHex(RESPONSES, [
      `4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133
       2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70
       6c65 2e63 6f6d`,
      '4803 3330 37c1 c0bf',
      `88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d
       54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049
       5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e
       3d31`,
    ]),
  },
  {
    section: 'C.6',
    title: 'responses with Huffman coding',
    tableSize: 256,
    steps: withHex(RESPONSES, [
      `4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6
       2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3`,
      '4883 640e ffc1 c0bf',
      `88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab
       77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f
       9587 3160 65c0 03ed 4ee5 b106 3d50 07`,
    ]),
  },
];
