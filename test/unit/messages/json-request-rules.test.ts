import t from 'tap';
import {
  type Document,
  EMPTY,
  entry,
  faultOf,
  key,
  limit,
  ownHits,
  read,
  shown,
  withDescriptor,
  withHits,
  withKey,
  withLimit,
  withOwnHits,
} from './json-request-cases.ts';

const UINT32 = 'must be a whole number from 0 to 4294967295';
const UINT64 = 'must be a whole number from 0 to 18446744073709551615';

/** One rule of the proto3 JSON mapping: documents and the requests they hold, and refusals by path and text. */
interface RuleCase {
  readonly rule: string;
  readonly accepted: readonly (readonly [Document, object])[];
  readonly refused: readonly (readonly [Document, string, string])[];
}

const RULES: readonly RuleCase[] = [
  {
    rule: 'fields have their lowerCamelCase or their snake_case name, in any order',
    accepted: [
      ['{"hits_addend":2,"domain":"d"}', { ...EMPTY, domain: 'd', hitsAddend: 2 }],
      ['{"domain":"d","hitsAddend":2}', { ...EMPTY, domain: 'd', hitsAddend: 2 }],
      ['{"descriptors":[{"hits_addend":5}]}', withOwnHits('5')],
      [limit('{"unit":"DAY","requests_per_unit":3}'), withLimit(3, 4)],
      [limit('{"requestsPerUnit":3,"unit":"DAY"}'), withLimit(3, 4)],
      ['{"\\u0064omain":"d"}', { ...EMPTY, domain: 'd' }],
    ],
    refused: [
      [
        '{"Domain":"d"}',
        '',
        'the string "Domain" is not a known field; accepted fields: domain, descriptors, hitsAddend',
      ],
      ['{"HitsAddend":1}', '', 'accepted fields: domain, descriptors, hitsAddend, hits_addend'],
    ],
  },
  {
    rule: 'an unknown field is refused with the fields that are accepted',
    accepted: [['{}', EMPTY]],
    refused: [
      ['{"domains":"d"}', '', 'the string "domains" is not a known field; accepted fields: domain'],
      ['{"domain\\u0000":"d"}', '', 'is not a known field'],
      ['{"":"d"}', '', 'the string "" is not a known field'],
      [
        '{"descriptors":[{},{"entires":[]}]}',
        'descriptors[1]',
        'accepted fields: entries, limit, hitsAddend',
      ],
      [entry('{"key":"k","val":"v"}'), 'descriptors[0].entries[0]', 'accepted fields: key, value'],
      [
        limit('{"requests":1}'),
        'descriptors[0].limit',
        'accepted fields: requestsPerUnit, requests_per_unit, unit',
      ],
    ],
  },
  {
    rule: 'a field may stand once, in one spelling, null or not',
    accepted: [['{"descriptors":[{"hitsAddend":1}],"hitsAddend":1}', { ...withOwnHits('1'), hitsAddend: 1 }]],
    refused: [
      ['{"domain":"a","domain":"a"}', '', 'is a duplicate field: write it once'],
      ['{"hitsAddend":1,"hits_addend":1}', '', 'the string "hits_addend" is a duplicate field'],
      ['{"domain":null,"domain":"a"}', '', 'is a duplicate field'],
      ['{"domain":"a","d\\u006fmain":null}', '', 'is a duplicate field'],
      ['{"descriptors":[{"limit":{},"limit":{}}]}', 'descriptors[0]', 'is a duplicate field'],
      [entry('{"key":"a","value":"b","key":"a"}'), 'descriptors[0].entries[0]', 'is a duplicate field'],
      [limit('{"requestsPerUnit":1,"requests_per_unit":1}'), 'descriptors[0].limit', 'is a duplicate field'],
    ],
  },
  {
    rule: 'null leaves a field unset, and stands nowhere else',
    accepted: [
      ['{"domain":null,"descriptors":null,"hitsAddend":null}', EMPTY],
      ['{"descriptors":[{"entries":null,"limit":null,"hitsAddend":null}]}', withDescriptor({})],
      [entry('{"key":null,"value":null}'), withKey('')],
      [limit('{"requestsPerUnit":null,"unit":null}'), withLimit(0, 0)],
    ],
    refused: [
      ['null', '', 'must be a JSON object, not null'],
      ['{"descriptors":[null]}', 'descriptors[0]', 'must be a JSON object, not null'],
      [entry('{},null'), 'descriptors[0].entries[1]', 'must be a JSON object, not null'],
      ['{"domain":nul}', 'domain', 'must be a JSON string (write "nul"), not the text nul'],
      ['{"domain":NULL}', 'domain', 'must be a JSON string'],
    ],
  },
  {
    rule: 'a refund is true or false',
    accepted: [
      ['{"descriptors":[{"isNegativeHits":true}]}', withDescriptor({ isNegativeHits: true })],
      ['{"descriptors":[{"is_negative_hits": true }]}', withDescriptor({ isNegativeHits: true })],
      ['{"descriptors":[{"isNegativeHits":false}]}', withDescriptor({})],
      ['{"descriptors":[{"isNegativeHits":null}]}', withDescriptor({})],
    ],
    refused: [
      [
        '{"descriptors":[{"isNegativeHits":1}]}',
        'descriptors[0].isNegativeHits',
        'must be true or false, not',
      ],
      [
        '{"descriptors":[{"isNegativeHits":"true"}]}',
        'descriptors[0].isNegativeHits',
        'must be true or false',
      ],
      ['{"descriptors":[{"isNegativeHits":tru}]}', 'descriptors[0].isNegativeHits', 'not the text tru'],
      ['{"descriptors":[{"isNegativeHits":truer}]}', 'descriptors[0].isNegativeHits', 'not the text r'],
    ],
  },
  {
    rule: 'texts are JSON strings in UTF-8',
    accepted: [
      [key('""'), withKey('')],
      [key('"a key/with: {all} [kinds], of-it"'), withKey('a key/with: {all} [kinds], of-it')],
      [key('"é 界 🚦 \u007f \ufffd"'), withKey('é 界 🚦 \u007f \ufffd')],
      [key('"\\" \\\\ \\/ \\b\\f\\n\\r\\t"'), withKey('" \\ / \b\f\n\r\t')],
      [
        key('"\\u0000\\u001f\\u007F\\u00e9\\u07ff\\u0800\\uD7FF\\ue000\\uffff"'),
        withKey('\0\u001f\u007fé\u07ff\u0800\ud7ff\ue000\uffff'),
      ],
      [key('"\\ud83d\\uDE00\\udbff\\udfff\\ud800\\udc00"'), withKey('😀\u{10ffff}\u{10000}')],
    ],
    refused: [
      [key('5'), 'descriptors[0].entries[0].key', 'must be a JSON string (write "5"), not the number 5'],
      ['{"domain":5}', 'domain', 'must be a JSON string (write "5"), not the number 5'],
      ['{"domain":true}', 'domain', 'must be a JSON string (write "true"), not true'],
      ['{"domain":{}}', 'domain', 'must be a JSON string, not an object'],
      ['{"domain":["d"]}', 'domain', 'must be a JSON string, not an array'],
      ['{"domain":\'d\'}', 'domain', "must be a JSON string, not the character '"],
      [key('"a\nb"'), 'descriptors[0].entries[0].key', 'control character 0x0a: write \\u000a'],
      [key('"\u001f"'), 'descriptors[0].entries[0].key', 'control character 0x1f'],
      [key('"\0"'), 'descriptors[0].entries[0].key', 'control character 0x00'],
      [key('"\\x41"'), 'descriptors[0].entries[0].key', 'accepted: \\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u'],
      [key('"\\u00g0"'), 'descriptors[0].entries[0].key', 'four hexadecimal digits'],
      [key('"\\u12"'), 'descriptors[0].entries[0].key', 'four hexadecimal digits'],
      [key('"\\ud800"'), 'descriptors[0].entries[0].key', '\\ud800 is half of a surrogate pair'],
      [key('"\\ud800\\n"'), 'descriptors[0].entries[0].key', 'half of a surrogate pair'],
      [key('"\\ud800\\ud800"'), 'descriptors[0].entries[0].key', 'half of a surrogate pair'],
      [key('"\\udc00\\udc00"'), 'descriptors[0].entries[0].key', '\\udc00 is half of a surrogate pair'],
      [key('"\\udc00\\ud800"'), 'descriptors[0].entries[0].key', '\\udc00 is half of a surrogate pair'],
      ['{"domain":"abc', 'domain', 'a string has no closing quote'],
      ['{"domain":"abc\\"}', 'domain', 'a string has no closing quote'],
    ],
  },
  {
    rule: 'a uint32 is a whole number in any form, or a string that holds one',
    accepted: [
      ['{"hitsAddend":0}', withHits(0)],
      ['{"hitsAddend":-0}', withHits(0)],
      ['{"hitsAddend":"2"}', withHits(2)],
      ['{"hitsAddend":"\\u0032"}', withHits(2)],
      ['{"hitsAddend":1.0}', withHits(1)],
      ['{"hitsAddend":1e2}', withHits(100)],
      ['{"hitsAddend":"1E+2"}', withHits(100)],
      ['{"hitsAddend":1.25e2}', withHits(125)],
      ['{"hitsAddend":12500e-2}', withHits(125)],
      ['{"hitsAddend":4294967295}', withHits(4294967295)],
      ['{"hitsAddend":4294967295.0}', withHits(4294967295)],
      ['{"hitsAddend":0e999999999999}', withHits(0)],
      [limit('{"requestsPerUnit":"4294967295"}'), withLimit(4294967295, 0)],
    ],
    refused: [
      ['{"hitsAddend":-1}', 'hitsAddend', `${UINT32}, not the number -1`],
      ['{"hits_addend":1.5}', 'hits_addend', `${UINT32}, not the number 1.5`],
      ['{"hitsAddend":4294967296}', 'hitsAddend', UINT32],
      ['{"hitsAddend":4294967295.0000001}', 'hitsAddend', UINT32],
      ['{"hitsAddend":1e400}', 'hitsAddend', UINT32],
      ['{"hitsAddend":1e-400}', 'hitsAddend', UINT32],
      ['{"hitsAddend":1e99999999999999999999}', 'hitsAddend', UINT32],
      ['{"hitsAddend":" 2"}', 'hitsAddend', `${UINT32}, not the string " 2"`],
      ['{"hitsAddend":"2 "}', 'hitsAddend', UINT32],
      ['{"hitsAddend":""}', 'hitsAddend', UINT32],
      ['{"hitsAddend":"two"}', 'hitsAddend', UINT32],
      ['{"hitsAddend":"0x10"}', 'hitsAddend', UINT32],
      ['{"hitsAddend":01}', 'hitsAddend', `${UINT32}, not the number 01`],
      ['{"hitsAddend":+1}', 'hitsAddend', UINT32],
      ['{"hitsAddend":.5}', 'hitsAddend', UINT32],
      ['{"hitsAddend":5.}', 'hitsAddend', UINT32],
      ['{"hitsAddend":1e}', 'hitsAddend', UINT32],
      ['{"hitsAddend":-}', 'hitsAddend', UINT32],
      ['{"hitsAddend":NaN}', 'hitsAddend', UINT32],
      ['{"hitsAddend":true}', 'hitsAddend', `${UINT32}, not true`],
      ['{"hitsAddend":[1]}', 'hitsAddend', `${UINT32}, not an array`],
      [limit('{"requestsPerUnit":-1}'), 'descriptors[0].limit.requestsPerUnit', UINT32],
    ],
  },
  {
    rule: "a descriptor's own hits have 64 bits, and 0 is set",
    accepted: [
      [ownHits('0'), withOwnHits('0')],
      [ownHits('"0"'), withOwnHits('0')],
      [ownHits('5'), withOwnHits('5')],
      [ownHits('"5"'), withOwnHits('5')],
      [ownHits('9007199254740991'), withOwnHits('9007199254740991')],
      [ownHits('9007199254740993'), withOwnHits('9007199254740993')],
      [ownHits('"18446744073709551615"'), withOwnHits('18446744073709551615')],
      [ownHits('18446744073709551615.0'), withOwnHits('18446744073709551615')],
      [ownHits('1.8446744073709551615e19'), withOwnHits('18446744073709551615')],
    ],
    refused: [
      [ownHits('18446744073709551616'), 'descriptors[0].hitsAddend', UINT64],
      [ownHits('-1'), 'descriptors[0].hitsAddend', UINT64],
      [ownHits('0.1'), 'descriptors[0].hitsAddend', UINT64],
      [ownHits('{"value":5}'), 'descriptors[0].hitsAddend', `${UINT64}, not an object`],
      [ownHits('" 5"'), 'descriptors[0].hitsAddend', UINT64],
    ],
  },
  {
    rule: 'a unit is an exact name or any number of 32 bits',
    accepted: [
      ...['UNKNOWN', 'SECOND', 'MINUTE', 'HOUR', 'DAY', 'MONTH', 'YEAR'].map(
        (name, number) => [limit(`{"unit":"${name}"}`), withLimit(0, number)] as const,
      ),
      [limit('{"unit":"D\\u0041Y"}'), withLimit(0, 4)],
      [limit('{"unit":7}'), withLimit(0, 7)],
      [limit('{"unit":1.0}'), withLimit(0, 1)],
      [limit('{"unit":-1}'), withLimit(0, -1)],
      [limit('{"unit":2147483647}'), withLimit(0, 2147483647)],
      [limit('{"unit":-2147483648}'), withLimit(0, -2147483648)],
    ],
    refused: [
      [
        limit('{"unit":"WEEK"}'),
        'descriptors[0].limit.unit',
        'one of UNKNOWN, SECOND, MINUTE, HOUR, DAY, MONTH, YEAR',
      ],
      [limit('{"unit":"minute"}'), 'descriptors[0].limit.unit', 'not the string "minute"'],
      [limit('{"unit":"DAY "}'), 'descriptors[0].limit.unit', 'must be one of'],
      [limit('{"unit":"DA"}'), 'descriptors[0].limit.unit', 'must be one of'],
      [limit('{"unit":"4"}'), 'descriptors[0].limit.unit', 'must be one of'],
      [limit('{"unit":2147483648}'), 'descriptors[0].limit.unit', 'from -2147483648 to 2147483647'],
      [limit('{"unit":-2147483649}'), 'descriptors[0].limit.unit', 'from -2147483648 to 2147483647'],
      [limit('{"unit":1.5}'), 'descriptors[0].limit.unit', 'not the number 1.5'],
      [limit('{"unit":["DAY"]}'), 'descriptors[0].limit.unit', 'not an array'],
    ],
  },
  {
    rule: 'messages are objects and lists are arrays',
    accepted: [
      ['{"descriptors":[]}', EMPTY],
      ['{"descriptors":[{}]}', withDescriptor({})],
      [limit('{}'), withLimit(0, 0)],
      [entry('{}'), withKey('')],
    ],
    refused: [
      ['{"descriptors":{}}', 'descriptors', 'must be a JSON array, not an object'],
      ['{"descriptors":"x"}', 'descriptors', 'must be a JSON array, not the string "x"'],
      ['{"descriptors":[[]]}', 'descriptors[0]', 'must be a JSON object, not an array'],
      ['{"descriptors":[{"entries":{}}]}', 'descriptors[0].entries', 'must be a JSON array, not an object'],
      [entry('"k=v"'), 'descriptors[0].entries[0]', 'must be a JSON object, not the string "k=v"'],
      [limit('5'), 'descriptors[0].limit', 'must be a JSON object, not the number 5'],
      [limit('[]'), 'descriptors[0].limit', 'must be a JSON object, not an array'],
    ],
  },
  {
    rule: 'a document is one object and nothing else',
    accepted: [[' \t\r\n{ "domain"\n:\t"d" } \r\n', { ...EMPTY, domain: 'd' }]],
    refused: [
      ['', '', 'is empty: send {"domain": "...", "descriptors": [...]}'],
      [' ', '', 'must be a JSON object, not the end of the document'],
      ['[]', '', 'must be a JSON object, not an array'],
      ['"d"', '', 'must be a JSON object, not the string "d"'],
      ['5', '', 'must be a JSON object, not the number 5'],
      ['domain=d', '', 'must be a JSON object, not the text domain'],
      ['{}{}', '', 'expected the end of the document, not an object'],
      ['{} x', '', 'expected the end of the document, not the text x'],
      ['{}\0', '', 'expected the end of the document, not the byte 0x00'],
      ['{"domain":"d"', 'domain', 'expected a comma or }, not the end of the document'],
      ['{"domain":"d",}', '', 'expected a field name in double quotes, not the character }'],
      ['{,}', '', 'expected a field name in double quotes'],
      ['{domain:"d"}', '', 'expected a field name in double quotes (write "domain"), not the text domain'],
      ['{"domain"5}', 'domain', 'expected a colon after the field name, not the number 5'],
      ['{"domain" "d"}', 'domain', 'expected a colon after the field name, not the string "d"'],
      ['{"domain":"a" "hitsAddend":1}', 'domain', 'expected a comma or }'],
      ['{"descriptors":[{} {}]}', 'descriptors[0]', 'expected a comma or ], not an object'],
      ['{"descriptors":[{},]}', 'descriptors[1]', 'must be a JSON object, not the character ]'],
      ['{"descriptors":[{}}', 'descriptors[0]', 'expected a comma or ], not the character }'],
      ['{"domain":"d"/**/}', 'domain', 'expected a comma or }'],
      ['{"domain":\u00a0"d"}', 'domain', 'must be a JSON string, not the byte 0xc2'],
      ['\ufeff{}', '', 'starts with a byte order mark (EF BB BF): send UTF-8 without it'],
      [Buffer.from('{}', 'utf16le'), '', 'expected a field name in double quotes, not the byte 0x00'],
    ],
  },
];

for (const { rule, accepted, refused } of RULES) {
  t.test(rule, async t => {
    for (const [document, request] of accepted) t.same(read(document), request, shown(document));
    for (const [document, path, text] of refused) {
      const fault = faultOf(document);
      t.equal(fault.path, path, `the path in ${shown(document)}`);
      t.match(fault.message, text, `the text for ${shown(document)}`);
    }
  });
}
