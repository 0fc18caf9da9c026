import { UNITS, type Unit } from './units.ts';
import { WireReader } from './wire.ts';

/** Whether a request may proceed, and what is left of its limits. */
export interface Decision {
  /** Without a decision of the service (`failed`), this is the answer that `onFailure` chooses. */
  readonly allowed: boolean;
  /** Whether there was no decision of the service. `onError` has received the reason. */
  readonly failed: boolean;
  /**
   * Requests per unit of the limit that decides: the exceeded limit that resets last, or else the limit with the smallest
   * share left. Null if no limit applies, as are the next two.
   */
  readonly limit: number | null;
  /** Hits that are left of this limit. */
  readonly remaining: number | null;
  /** Seconds until this limit resets. */
  readonly resetS: number | null;
  /** Whole seconds after which the request may be sent again, at least 1. Null if it is allowed. */
  readonly retryAfterS: number | null;
  /** `response_headers_to_add`: what the service wants the response to have. Names are in lower case. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The body that explains a rejection; empty unless the rules have `problem_body`. */
  readonly body: string;
  /** One for each descriptor, in the order of the request. Empty with `failed`. */
  readonly statuses: readonly DescriptorStatus[];
}

export interface DescriptorStatus {
  readonly code: Code;
  /** The limit that applied; null if none did. */
  readonly limit: { readonly name: string; readonly requestsPerUnit: number; readonly unit: Unit } | null;
  /** Hits that are left of the limit; 0 without a limit. */
  readonly remaining: number;
  /** Seconds until the limit resets; null without a limit. */
  readonly resetS: number | null;
}

const CODES = ['UNKNOWN', 'OK', 'OVER_LIMIT'] as const;

type Code = (typeof CODES)[number];

/** Decodes an `envoy.service.ratelimit.v3.RateLimitResponse`. @throws NoDecision if it is malformed */
export function decodeDecision(message: Buffer): Decision {
  const reader = new WireReader(message);
  let isAllowed = true;
  let body = '';
  const statuses: DescriptorStatus[] = [];
  const headers: (readonly [string, string])[] = [];
  while (reader.next()) {
    if (reader.field === 1) isAllowed = CODES[reader.uint()] !== 'OVER_LIMIT';
    else if (reader.field === 2) statuses.push(reader.nested(readStatus));
    else if (reader.field === 3) {
      const header = reader.nested(readHeader);
      if (isValidHeader(header)) headers.push(header);
    } else if (reader.field === 5) body = reader.text();
    else reader.skip();
  }
  const deciding = decidingStatus(statuses, isAllowed);
  return {
    allowed: isAllowed,
    failed: false,
    limit: deciding?.limit?.requestsPerUnit ?? null,
    remaining: deciding?.limit ? deciding.remaining : null,
    resetS: deciding?.resetS ?? null,
    retryAfterS: isAllowed ? null : retryAfterS(headers, deciding),
    headers,
    body,
    statuses,
  };
}

/** The answer if there is no decision. */
export function decisionWithout(allowed: boolean): Decision {
  const nothing = { limit: null, remaining: null, resetS: null, headers: [], body: '', statuses: [] };
  return { allowed, failed: true, ...nothing, retryAfterS: allowed ? null : 1 };
}

/**
 * The status that decides: of a rejected request, the exceeded limit that resets last; of an allowed one, the limit with
 * the smallest share left.
 */
export function decidingStatus(
  statuses: readonly DescriptorStatus[],
  isAllowed: boolean,
): DescriptorStatus | undefined {
  let deciding: DescriptorStatus | undefined;
  for (const status of statuses) {
    if (isAllowed ? status.limit === null : status.code !== 'OVER_LIMIT') continue;
    if (deciding === undefined || decidesMore(status, deciding, isAllowed)) deciding = status;
  }
  return deciding;
}

function decidesMore(status: DescriptorStatus, other: DescriptorStatus, isAllowed: boolean): boolean {
  return isAllowed ? shareLeft(status) < shareLeft(other) : (status.resetS ?? 0) > (other.resetS ?? 0);
}

function shareLeft({ limit, remaining }: DescriptorStatus): number {
  return limit === null || limit.requestsPerUnit === 0 ? 0 : remaining / limit.requestsPerUnit;
}

/** The service knows better which limits have to reset, for example if they are in quota mode. */
function retryAfterS(headers: Decision['headers'], deciding: DescriptorStatus | undefined): number {
  const header = headers.find(([name, value]) => name === 'retry-after' && /^\d{1,9}$/.test(value));
  return Math.max(1, header === undefined ? Math.ceil(deciding?.resetS ?? 0) : Number(header[1]));
}

function readStatus(reader: WireReader): DescriptorStatus {
  let code: Code = 'UNKNOWN';
  let limit: DescriptorStatus['limit'] = null;
  let remaining = 0;
  let resetS: number | null = null;
  while (reader.next()) {
    if (reader.field === 1) code = CODES[reader.uint()] ?? 'UNKNOWN';
    else if (reader.field === 2) limit = reader.nested(readLimit);
    else if (reader.field === 3) remaining = reader.uint();
    else if (reader.field === 4) resetS = reader.nested(readSeconds);
    else reader.skip();
  }
  return { code, limit, remaining, resetS };
}

function readLimit(reader: WireReader): NonNullable<DescriptorStatus['limit']> {
  let name = '';
  let requestsPerUnit = 0;
  let unit: Unit = 'UNKNOWN';
  while (reader.next()) {
    if (reader.field === 1) requestsPerUnit = reader.uint();
    else if (reader.field === 2) unit = UNITS[reader.uint()] ?? 'UNKNOWN';
    else if (reader.field === 3) name = reader.text();
    else reader.skip();
  }
  return { name, requestsPerUnit, unit };
}

/** The seconds of a `google.protobuf.Duration`. */
function readSeconds(reader: WireReader): number {
  let seconds = 0;
  while (reader.next()) {
    if (reader.field === 1) seconds += reader.uint();
    else if (reader.field === 2) seconds += reader.uint() / 1e9;
    else reader.skip();
  }
  return seconds;
}

function readHeader(reader: WireReader): readonly [name: string, value: string] {
  let name = '';
  let value = '';
  while (reader.next()) {
    if (reader.field === 1) name = reader.text().toLowerCase();
    else if (reader.field === 2) value = reader.text();
    else reader.skip();
  }
  return [name, value];
}

/** `setHeader` throws for other headers, and a pseudo-header such as `:status` would change the response. */
function isValidHeader([name, value]: readonly [string, string]): boolean {
  return /^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/.test(value);
}
