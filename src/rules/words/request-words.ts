import { quote } from '../../base/printable.ts';
import {
  ADDRESS_LISTS,
  type EntrySource,
  type MappedEntry,
  type RequestMapping,
} from '../request-mapping.ts';

/** What a mapping does with a request: a line for each descriptor, and one for the rest. */
export function requestsInWords({ descriptors, ...rest }: RequestMapping): string[] {
  const hasAddress = descriptors.some(entries => entries.some(({ source }) => source === 'client_address'));
  const others = [
    ...(hasAddress ? [addressInWords(rest.clientAddress)] : []),
    ...(rest.token === null ? [] : [tokenInWords(rest.token)]),
    `a request that cannot be decided is ${rest.onFailure === 'allow' ? 'allowed' : 'denied'}`,
  ];
  return [...descriptors.map(entries => entries.map(entryInWords).join(', ')), others.join('; ')];
}

const SOURCES: Readonly<Record<EntrySource, (of: string) => string>> = {
  value: quote,
  method: () => 'the method',
  host: () => 'the host',
  path: () => 'the path',
  path_segment: of => `segment ${of} of the path`,
  query: of => `the parameter ${of}`,
  header: of => `the header ${of}`,
  cookie: of => `the cookie ${of}`,
  client_address: () => 'the address of the client',
  claim: of => `the claim ${of}`,
};

/** `plan is the header x-plan, or else "free"`. */
function entryInWords({ key, source, of, fallback }: MappedEntry): string {
  const otherwise = fallback === '' ? '' : `, or else ${quote(fallback)}`;
  return `${key} is ${SOURCES[source](of)}${otherwise}`;
}

function addressInWords({ header, trustedProxies }: RequestMapping['clientAddress']): string {
  if (!(ADDRESS_LISTS as readonly string[]).includes(header))
    return `the address of the client is the header ${header}`;
  if (trustedProxies === 0) return 'the client is the caller of Sluice';
  return trustedProxies === 1
    ? `the address of the client is the last one in ${header}`
    : `the address of the client is number ${trustedProxies} from the end of ${header}`;
}

function tokenInWords({ header, jwksFile, issuer, audience }: NonNullable<RequestMapping['token']>): string {
  if (jwksFile === '') return `the token in ${header} is read and not checked`;
  const of = [
    ...(issuer === '' ? [] : [`issuer ${issuer}`]),
    ...(audience === '' ? [] : [`audience ${audience}`]),
  ];
  const wanted = of.length === 0 ? '' : `, for ${of.join(' and ')}`;
  return `the token in ${header} is checked with ${jwksFile}${wanted}`;
}
