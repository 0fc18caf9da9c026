import { excerpt, quote } from '../../../base/printable.ts';
import { ANSWER_FIELDS } from '../../domain-answers.ts';
import { ENTRY_SOURCES } from '../../request-mapping.ts';
import { typedScalar, type YamlMap, type YamlNode, type YamlPair } from '../yaml/yaml-node.ts';
import { checkLeaf, isMapItem } from './fields.ts';
import type { FileCheck } from './file-check.ts';
import { likelyName } from './likely-name.ts';

/**
 * Checks the keys of a map. As in envoyproxy/ratelimit, one of its fields is silently ignored in another kind of map, but
 * its value has to be well formed. Fields and maps that envoyproxy/ratelimit does not know are not ignored.
 */
export function checkKeys(check: FileCheck, map: YamlMap, kind: MapKind): void {
  const accepted = FIELDS[kind];
  for (const pair of map.pairs) if (!accepted.includes(pair.key)) checkIgnored(check, pair, kind);
}

/** Checks an ignored pair: its key must be a field that may be ignored. Nothing below `metadata` is checked. */
function checkIgnored(check: FileCheck, pair: YamlPair, kind: MapKind): void {
  if (check.full) return;
  if (!IGNORED.has(pair.key) || STRICT.has(kind)) refuseKey(check, pair, kind);
  else if (pair.key !== 'metadata') checkIgnoredValue(check, pair.value, kind);
}

function checkIgnoredValue(check: FileCheck, node: YamlNode, kind: MapKind): void {
  if (node.kind === 'scalar') checkLeaf(check, node);
  else if (node.kind === 'map') for (const pair of node.pairs) checkIgnored(check, pair, kind);
  else {
    for (const item of node.items) {
      if (isMapItem(check, item, 'a list', '- key: ...')) checkIgnoredValue(check, item, kind);
    }
  }
}

function refuseKey(check: FileCheck, pair: YamlPair, kind: MapKind): void {
  const list = `accepted here: ${FIELDS[kind].join(', ')}`;
  const type = pair.keyPlain ? typedScalar(pair.key) : pair.key;
  if (typeof type !== 'string') {
    const what = type === null ? 'null' : typeof type === 'boolean' ? 'a boolean' : 'a number';
    check.fault(pair.keyOffset, `the key ${quote(pair.key)} is ${what} in YAML and not a name; ${list}`);
    return;
  }
  const owner = ownerOf(pair.key);
  if (owner !== null) {
    check.fault(pair.keyOffset, `\`${pair.key}\` belongs in ${PLACES[owner]}, not here; ${list}`);
    return;
  }
  const guess = likelyName(pair.key, [...FIELDS[kind], ...FIELD_NAMES]);
  const hint = guess === null ? '' : `did you mean \`${guess}\`? `;
  check.fault(pair.keyOffset, `unknown key \`${excerpt(pair.key)}\`; ${hint}${list}`);
}

/** The kind of value of a field. */
export type FieldKind =
  | 'text'
  | 'count'
  | 'flag'
  | 'limit'
  | 'limits'
  | 'calendar'
  | 'penalty'
  | 'classes'
  | 'after_limit'
  | 'reserve'
  | 'concurrency'
  | 'quota'
  | 'texts'
  | 'range'
  | 'not'
  | 'group_by'
  | 'answers'
  | 'requests'
  | 'client_address'
  | 'token'
  | 'mapped'
  | 'metadata'
  | 'entries'
  | 'replaces'
  | 'overlay';

/**
 * `rate_limits` is an item of that list. `overlay` is an overlay file, `overlay_entry` an item of its list, and
 * `overlay_limit` the `rate_limit` of such an item.
 */
export type MapKind =
  | 'file'
  | 'answers'
  | 'requests'
  | 'client_address'
  | 'token'
  | 'request_entry'
  | 'entry'
  | 'rate_limit'
  | 'rate_limits'
  | 'calendar'
  | 'penalty'
  | 'classes'
  | 'after_limit'
  | 'reserve'
  | 'concurrency'
  | 'quota'
  | 'range'
  | 'not'
  | 'group_by'
  | 'replaces'
  | 'overlay'
  | 'overlay_entry'
  | 'overlay_limit';

/** How messages show an item of a list of maps. */
export const ITEM_EXAMPLES = {
  entry: '- key: ...',
  rate_limits: '- unit: ...',
  replaces: '- name: ...',
  overlay_entry: '- domain: ...',
} as const;

/** The fields of a limit, with or without a list around it. */
const OF_LIMITS: readonly (readonly [string, FieldKind])[] = [
  ['unit', 'text'],
  ['unit_multiplier', 'count'],
  ['window', 'text'],
  ['calendar', 'calendar'],
  ['requests_per_unit', 'count'],
  ['algorithm', 'text'],
  ['burst', 'count'],
  ['penalty', 'penalty'],
  ['classes', 'classes'],
  ['after_limit', 'after_limit'],
  ['scale', 'count'],
  ['reserve', 'reserve'],
  ['concurrency', 'concurrency'],
];
const NAMES_OF_LIMITS: readonly (readonly [string, FieldKind])[] = [
  ['name', 'text'],
  ['replaces', 'replaces'],
];

/** The fields of a `rate_limit`. */
const OF_LIMIT = [...OF_LIMITS, ['unlimited', 'flag'] as const, ...NAMES_OF_LIMITS];

/** What an entry can have instead of a value. */
const OF_CONDITIONS: readonly (readonly [string, FieldKind])[] = [
  ['in', 'texts'],
  ['in_file', 'text'],
  ['cidr', 'texts'],
  ['cidr_file', 'text'],
  ['range', 'range'],
  ['matches', 'text'],
];

/** What entries have beside their key and value and the entries below them. */
const OF_ENTRIES: readonly (readonly [string, FieldKind])[] = [
  ['rate_limit', 'limit'],
  ['rate_limits', 'limits'],
  ['holder', 'text'],
  ['quota', 'quota'],
  ['shadow_mode', 'flag'],
  ['quota_mode', 'flag'],
  ['detailed_metric', 'flag'],
  ['value_to_metric', 'flag'],
  ['share_threshold', 'flag'],
  ['group_by', 'group_by'],
  ['metadata', 'metadata'],
];

/** The fields of each kind of map, in the order in which messages list them. */
const FIELD_KINDS: Readonly<Record<MapKind, ReadonlyMap<string, FieldKind>>> = {
  file: new Map([
    ['domain', 'text'],
    ['descriptors', 'entries'],
    ['answers', 'answers'],
    ['requests', 'requests'],
  ]),
  answers: new Map(Object.keys(ANSWER_FIELDS).map(name => [name, 'flag'])),
  requests: new Map([
    ['descriptors', 'mapped'],
    ['client_address', 'client_address'],
    ['token', 'token'],
    ['on_failure', 'text'],
  ]),
  client_address: new Map([
    ['trusted_proxies', 'count'],
    ['header', 'text'],
  ]),
  token: new Map([
    ['header', 'text'],
    ['jwks_file', 'text'],
    ['issuer', 'text'],
    ['audience', 'text'],
    ['read_only', 'flag'],
  ]),
  request_entry: new Map<string, FieldKind>([
    ['key', 'text'],
    ...Object.entries(ENTRY_SOURCES),
    ['default', 'text'],
  ]),
  entry: new Map([
    ['key', 'text'],
    ['value', 'text'],
    ...OF_CONDITIONS,
    ['not', 'not'],
    ['ignore_case', 'flag'],
    ...OF_ENTRIES.slice(0, 4),
    ['descriptors', 'entries'],
    ...OF_ENTRIES.slice(4),
  ]),
  rate_limit: new Map(OF_LIMIT),
  rate_limits: new Map([...OF_LIMITS, ...NAMES_OF_LIMITS, ['shadow_mode', 'flag'], ['quota_mode', 'flag']]),
  calendar: new Map([
    ['period', 'text'],
    ['zone', 'text'],
    ['starts', 'text'],
  ]),
  penalty: new Map([
    ['after', 'count'],
    ['for', 'text'],
    ['factor', 'count'],
    ['max', 'text'],
  ]),
  // Its keys are names of classes, `key` and `default`; see `kindOfField`.
  classes: new Map(),
  after_limit: new Map([['admit', 'text']]),
  reserve: new Map([
    ['for', 'text'],
    ['overdraft', 'text'],
    ['zero_hits', 'text'],
    ['estimate', 'count'],
  ]),
  concurrency: new Map([
    ['limit', 'count'],
    ['for', 'text'],
  ]),
  quota: new Map([
    ['share', 'text'],
    ['for', 'text'],
  ]),
  range: new Map([
    ['from', 'text'],
    ['to', 'text'],
  ]),
  not: new Map([['value', 'text'], ...OF_CONDITIONS, ['ignore_case', 'flag']]),
  group_by: new Map([
    ['prefix', 'count'],
    ['ipv6_prefix', 'count'],
    ['segments', 'count'],
  ]),
  replaces: new Map([['name', 'text']]),
  overlay: new Map([['overlay', 'overlay']]),
  overlay_entry: new Map([
    ['domain', 'text'],
    ['path', 'text'],
    ...OF_ENTRIES,
    ['answers', 'answers'],
    ['requests', 'requests'],
  ]),
  overlay_limit: new Map(OF_LIMIT),
};

/** The kind of value of a field; undefined if this kind of map does not have it. */
export function kindOfField(kind: MapKind, name: string): FieldKind | undefined {
  return kind === 'classes' ? 'text' : FIELD_KINDS[kind].get(name);
}

/** The names of the fields of each kind of map. */
const FIELDS: Readonly<Record<MapKind, readonly string[]>> = {
  file: [...FIELD_KINDS.file.keys()],
  answers: [...FIELD_KINDS.answers.keys()],
  entry: [...FIELD_KINDS.entry.keys()],
  rate_limit: [...FIELD_KINDS.rate_limit.keys()],
  rate_limits: [...FIELD_KINDS.rate_limits.keys()],
  calendar: [...FIELD_KINDS.calendar.keys()],
  penalty: [...FIELD_KINDS.penalty.keys()],
  classes: [],
  after_limit: [...FIELD_KINDS.after_limit.keys()],
  reserve: [...FIELD_KINDS.reserve.keys()],
  concurrency: [...FIELD_KINDS.concurrency.keys()],
  quota: [...FIELD_KINDS.quota.keys()],
  range: [...FIELD_KINDS.range.keys()],
  not: [...FIELD_KINDS.not.keys()],
  group_by: [...FIELD_KINDS.group_by.keys()],
  replaces: [...FIELD_KINDS.replaces.keys()],
  overlay: [...FIELD_KINDS.overlay.keys()],
  overlay_entry: [...FIELD_KINDS.overlay_entry.keys()],
  overlay_limit: [...FIELD_KINDS.overlay_limit.keys()],
  requests: [...FIELD_KINDS.requests.keys()],
  client_address: [...FIELD_KINDS.client_address.keys()],
  token: [...FIELD_KINDS.token.keys()],
  request_entry: [...FIELD_KINDS.request_entry.keys()],
};

/** The fields of limits that envoyproxy/ratelimit does not know, except `rate_limits`. */
export const ADDED_FIELDS: ReadonlySet<string> = new Set([
  'unit_multiplier',
  'window',
  'calendar',
  'algorithm',
  'burst',
  'penalty',
  'classes',
  'after_limit',
  'scale',
  'reserve',
  'concurrency',
]);

/** The kinds of maps that envoyproxy/ratelimit does not know. */
const STRICT: ReadonlySet<MapKind> = new Set([
  'answers',
  'requests',
  'client_address',
  'token',
  'request_entry',
  'rate_limits',
  'calendar',
  'penalty',
  'classes',
  'after_limit',
  'reserve',
  'concurrency',
  'quota',
  'range',
  'not',
  'group_by',
  'overlay',
  'overlay_entry',
  'overlay_limit',
]);

/** The names of all fields of all kinds of maps. */
export const FIELD_NAMES: readonly string[] = [...new Set(Object.values(FIELDS).flat())];

/** The names outside limits that envoyproxy/ratelimit does not know. */
const OWN_NAMES: ReadonlySet<string> = new Set([
  'rate_limits',
  'holder',
  'quota',
  'not',
  'ignore_case',
  'group_by',
  'answers',
  'requests',
  'overlay',
  'path',
  ...OF_CONDITIONS.map(([name]) => name),
  ...FIELDS.answers,
  ...FIELDS.requests.filter(name => name !== 'descriptors'),
  ...FIELDS.client_address,
  ...FIELDS.token,
  ...FIELDS.request_entry.filter(name => name !== 'key' && name !== 'value'),
  ...FIELDS.calendar,
  ...FIELDS.penalty,
  ...FIELDS.after_limit,
  ...FIELDS.reserve,
  ...FIELDS.concurrency,
  ...FIELDS.quota,
  ...FIELDS.range,
  ...FIELDS.group_by,
]);

/** The fields that are ignored in the wrong kind of map: those of envoyproxy/ratelimit. */
const IGNORED: ReadonlySet<string> = new Set(
  FIELD_NAMES.filter(name => !OWN_NAMES.has(name) && !ADDED_FIELDS.has(name)),
);

/** Where the fields of a kind of map belong, for messages. */
const PLACES: Readonly<Record<MapKind, string>> = {
  file: 'the file, at its top',
  answers: '`answers` at the top of the file',
  requests: '`requests` at the top of the file',
  client_address: '`client_address` of `requests`',
  token: '`token` of `requests`',
  request_entry: 'an entry of `requests`',
  entry: 'an entry',
  rate_limit: '`rate_limit`',
  rate_limits: 'an item of `rate_limits`',
  calendar: '`calendar`',
  penalty: '`penalty`',
  classes: '`classes`',
  after_limit: '`after_limit`',
  reserve: '`reserve`',
  concurrency: '`concurrency`',
  quota: '`quota`',
  range: '`range`',
  not: '`not`',
  group_by: '`group_by`',
  replaces: 'an item of `replaces`',
  overlay: 'a file of `RULES_OVERLAY`, at its top',
  overlay_entry: 'an item of `overlay`',
  overlay_limit: '`rate_limit`',
};

/** The first kind of map that has this field; null if no kind has it. */
function ownerOf(name: string): MapKind | null {
  const kinds = Object.keys(FIELDS) as MapKind[];
  return kinds.find(kind => FIELDS[kind].includes(name)) ?? null;
}
