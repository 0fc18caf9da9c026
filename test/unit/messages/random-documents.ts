import type { Draws } from './draws.ts';

/** A correct request document: any fields, in any order, spelling, spacing and number form. */
export function randomDocument(draws: Draws): string {
  return spaced(
    draws,
    object(draws, [
      ['domain', string(draws)],
      ['descriptors', list(draws, 4, () => descriptor(draws))],
      [draws.pick(['hitsAddend', 'hits_addend']), uint32(draws)],
    ]),
  );
}

function descriptor(draws: Draws): string {
  return object(draws, [
    ['entries', list(draws, 4, () => entry(draws))],
    ['limit', limit(draws)],
    [draws.pick(['hitsAddend', 'hits_addend']), uint64(draws)],
    [draws.pick(['isNegativeHits', 'is_negative_hits']), draws.pick(['true', 'false'])],
  ]);
}

function entry(draws: Draws): string {
  return object(draws, [
    ['key', string(draws)],
    ['value', string(draws)],
  ]);
}

function limit(draws: Draws): string {
  const names = ['"UNKNOWN"', '"SECOND"', '"MINUTE"', '"HOUR"', '"DAY"', '"MONTH"', '"YEAR"', '"\\u0044AY"'];
  return object(draws, [
    [draws.pick(['requestsPerUnit', 'requests_per_unit']), uint32(draws)],
    ['unit', draws.pick([...names, '7', '-1', '-2147483648', '2147483647', '1.0', '2e0', '99'])],
  ]);
}

/** Some of the fields, shuffled; now and then one is null or has an escape in its name. */
function object(draws: Draws, fields: readonly (readonly [string, string])[]): string {
  const members = draws
    .shuffled(fields)
    .filter(() => draws.number(6) > 0)
    .map(([name, value]) => {
      const written =
        draws.number(20) === 0 ? `\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}` : name;
      const held = draws.number(12) === 0 ? 'null' : value;
      return `${spaced(draws, `"${written}"`)}:${spaced(draws, held)}`;
    });
  return `{${members.join(',')}${spaced(draws, '')}}`;
}

function list(draws: Draws, atMost: number, item: () => string): string {
  return `[${draws.list(atMost, () => spaced(draws, item())).join(',')}]`;
}

function spaced(draws: Draws, text: string): string {
  const space = (): string => (draws.number(4) > 0 ? '' : draws.pick([' ', '\t', '\n', '\r\n', '   ']));
  return space() + text + space();
}

const PIECES = [
  ...[
    'a',
    'Z',
    '0',
    '_',
    '*',
    ' ',
    '/',
    '{',
    ':',
    'é',
    '界',
    '🚦',
    '\u007f',
    '\ufffd',
    'remote_address',
    '10.0.0.1',
  ],
  ...[
    '\\"',
    '\\\\',
    '\\/',
    '\\b',
    '\\f',
    '\\n',
    '\\r',
    '\\t',
    '\\u0000',
    '\\u00e9',
    '\\u754C',
    '\\ud83d\\ude00',
  ],
];

function string(draws: Draws): string {
  const atMost = draws.pick([3, 3, 8, 60]);
  const pieces = draws.number(2) === 0 ? PIECES.slice(0, 9) : PIECES;
  return `"${draws.list(atMost, () => draws.pick(pieces)).join('')}"`;
}

function uint32(draws: Draws): string {
  return number(draws, draws.pick(['0', '1', '127', '128', '4294967295', String(draws.number(2 ** 32))]));
}

function uint64(draws: Draws): string {
  const edges = [
    '0',
    '1',
    '9007199254740991',
    '9007199254740992',
    '9223372036854775808',
    '18446744073709551615',
  ];
  return number(draws, draws.pick([...edges, String(draws.number(2 ** 40))]));
}

/** One of the forms in which a whole number can be written. */
function number(draws: Draws, digits: string): string {
  const shifted = digits.length > 1 ? `${digits[0]}.${digits.slice(1)}e${digits.length - 1}` : `${digits}e0`;
  const form = draws.pick([digits, digits, `${digits}.0`, `${digits}0e-1`, `${digits}.00E+0`, shifted]);
  // Ten times 0 would start with a 0, which JSON does not allow.
  const written = digits === '0' && form.startsWith('00') ? '0' : form;
  return draws.number(3) === 0 ? `"${written}"` : written;
}

/** Bytes that mean something somewhere in a document, good or bad. */
const SPLICES = [
  ...[
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '\\',
    '\\u',
    '\\ud800',
    '-',
    '.',
    'e5',
    '0',
    '1',
    ' ',
    'null',
    'true',
    '{}',
  ],
  ...[
    '"key":',
    '"unit":',
    '"limit":{},',
    '"hits_addend":1,',
    '"hitsAddend":"2",',
    '""',
    '"5"',
    '\u0000',
    '\n',
    'é',
  ],
].map(text => Buffer.from(text));

/** The document with a few bytes changed, taken out, doubled or put in. */
export function mutated(draws: Draws, document: Uint8Array): Uint8Array {
  let bytes = Buffer.from(document);
  for (let changes = 1 + draws.number(3); changes > 0; changes--) {
    const at = draws.number(bytes.length + 1);
    const end = Math.min(bytes.length, at + draws.number(6));
    const put = draws.pick([
      Buffer.from([draws.number(256)]),
      Buffer.alloc(0),
      draws.pick(SPLICES),
      Buffer.concat([bytes.subarray(at, end), bytes.subarray(at, end)]),
    ]);
    bytes = Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(draws.pick([at, end]))]);
  }
  return bytes;
}
