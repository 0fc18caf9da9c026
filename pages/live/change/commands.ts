import type { Commands } from '../../design/change-form.tsx';
import { type Descriptor, descriptorText, type Entry } from '../descriptor.ts';
import { RECORD_PATHS, type RecordKind, type RecordRequest } from './record.ts';

const TOKEN = '"Authorization: Bearer $ADMIN_TOKEN"';
const JSON_TYPE = "'Content-Type: application/json'";

export function putCommands(kind: RecordKind, request: RecordRequest): Commands {
  const { domain, entries, requests_per_unit: limit, factor, until, reason } = request;
  const effect = kind !== 'override' ? [] : limit === undefined ? ['--factor', factor] : ['--limit', limit];
  return {
    sluice: words(
      'sluice',
      kind,
      'put',
      ...target({ domain, entries }),
      ...effect,
      '--until',
      until,
      '--reason',
      reason,
      ...address(),
    ),
    curl: `curl -X PUT ${quoted(`${origin()}/api/v1/${RECORD_PATHS[kind]}`)} \\\n  -H ${TOKEN} -H ${JSON_TYPE} \\\n  -d ${quoted(JSON.stringify(request))}`,
  };
}

export function removeCommands(kind: RecordKind, id: string): Commands {
  return {
    sluice: words('sluice', kind, 'remove', id, ...address()),
    curl: `curl -X DELETE ${quoted(`${origin()}/api/v1/${RECORD_PATHS[kind]}/${id}`)} \\\n  -H ${TOKEN}`,
  };
}

export function resetCommands(descriptor: Descriptor, reason: string): Commands {
  const body = JSON.stringify({ ...descriptor, reason });
  return {
    sluice: words('sluice', 'counters', 'reset', ...target(descriptor), '--reason', reason, ...address()),
    curl: `curl ${quoted(`${origin()}/api/v1/counters/reset`)} \\\n  -H ${TOKEN} -H ${JSON_TYPE} \\\n  -d ${quoted(body)}`,
  };
}

export function releaseCommands(descriptor: Descriptor, holder: string, reason: string): Commands {
  const body = JSON.stringify({ ...descriptor, holder, reason });
  const why = ['--holder', holder, '--reason', reason];
  return {
    sluice: words('sluice', 'leases', 'release', ...target(descriptor), ...why, ...address()),
    curl: `curl ${quoted(`${origin()}/api/v1/leases/release`)} \\\n  -H ${TOKEN} -H ${JSON_TYPE} \\\n  -d ${quoted(body)}`,
  };
}

/** The commands that explain what would become of a request. */
export function explainCommands(domain: string, descriptors: readonly (readonly Entry[])[]): Commands {
  const each = descriptors.flatMap(entries => ['--descriptors', descriptorText(entries)]);
  const hasComma = descriptors.flat().some(({ key, value }) => `${key}${value}`.includes(','));
  const body = JSON.stringify({ domain, descriptors: descriptors.map(entries => ({ entries })) });
  return {
    // A comma ends an entry on the command line.
    sluice: hasComma ? null : words('sluice', 'explain', '--domain', domain, ...each, ...address()),
    curl: `curl ${quoted(`${origin()}/explain`)} -d ${quoted(body)}`,
  };
}

/** The commands for a step of a rehearsal. */
export function stepCommands(step: 'promote' | 'restart' | 'stop', id: string, reason: string): Commands {
  const ids = step === 'promote' ? ['--id', id] : [];
  const why = reason === '' ? [] : ['--reason', reason];
  const body = JSON.stringify({ ...(step === 'promote' && { id }), ...(reason !== '' && { reason }) });
  const query = reason === '' ? '' : `?${new URLSearchParams({ reason })}`;
  return {
    sluice: words('sluice', 'rehearse', step, ...ids, ...why, ...address()),
    curl:
      step === 'stop'
        ? `curl -X DELETE ${quoted(`${origin()}/api/v1/rehearsal${query}`)} \\\n  -H ${TOKEN}`
        : `curl ${quoted(`${origin()}/api/v1/rehearsal/${step}`)} \\\n  -H ${TOKEN} -H ${JSON_TYPE} \\\n  -d ${quoted(body)}`,
  };
}

/** The commands for a change of a tenant. @param given words behind `sluice tenants`; null if there is no such command */
export function tenantCommands(
  given: readonly string[] | null,
  {
    method,
    path,
    body,
  }: { readonly method: 'POST' | 'PUT'; readonly path: string; readonly body: { readonly reason: string } },
): Commands {
  const verb = method === 'POST' ? '' : `-X ${method} `;
  return {
    sluice: given && words('sluice', 'tenants', ...given, '--reason', body.reason, ...address()),
    curl: `curl ${verb}${quoted(`${origin()}/api/v1${path}`)} \\\n  -H ${TOKEN} -H ${JSON_TYPE} \\\n  -d ${quoted(JSON.stringify(body))}`,
  };
}

function target({ domain, entries }: Descriptor): readonly string[] {
  return ['--domain', domain, '--descriptors', descriptorText(entries)];
}

/** The address that the commands ask if they are told no other. */
const DEFAULT_ADDRESS = 'localhost:6070';

function address(): readonly string[] {
  return location.host === DEFAULT_ADDRESS ? [] : ['--debug-address', location.host];
}

function origin(): string {
  return location.origin;
}

function words(...parts: readonly (string | number | undefined)[]): string {
  return parts.map(part => quoted(String(part ?? ''))).join(' ');
}

/** Quotes a word for a POSIX shell, if it needs quotes. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
