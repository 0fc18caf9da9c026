import type { JsonReader } from './json-reader.ts';
import { NO_FIELD, nameTable } from './json-reader.ts';

/** An HTTP request that a caller of `/json` describes, instead of its descriptors. Texts are empty if they are missing. */
export interface DescribedRequest {
  readonly method: string;
  readonly host: string;
  /** With the query. */
  readonly target: string;
  readonly clientAddress: string;
  /** Names as they were sent. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

const METHOD = 1;
const HOST = 2;
const TARGET = 4;
const CLIENT_ADDRESS = 8;
const HEADERS = 16;
const FIELDS = nameTable({
  method: METHOD,
  host: HOST,
  target: TARGET,
  clientAddress: CLIENT_ADDRESS,
  client_address: CLIENT_ADDRESS,
  headers: HEADERS,
});

/** Maximum number of headers, and of characters of a text. */
const MAX_HEADERS = 256;
const MAX_TEXT = 65_536;

const TOO_MANY_HEADERS = `a request may have at most ${MAX_HEADERS} headers: send those that \`requests\` of the rule file names`;
const TOO_LONG = `a text of a request may have at most ${MAX_TEXT} characters: send a shorter one`;

/**
 * Reads the description of a request.
 *
 * @throws JsonFault if it is not valid
 */
export function readDescribedRequest(reader: JsonReader): DescribedRequest {
  let [method, host, target, clientAddress] = ['', '', '', ''];
  let headers: DescribedRequest['headers'] = [];
  let seen = 0;
  let field = reader.firstField(FIELDS);
  for (; field !== NO_FIELD; field = reader.nextField(FIELDS, seen)) {
    seen |= field;
    if (reader.takeNull()) continue;
    if (field === HEADERS) headers = readHeaders(reader);
    else if (field === METHOD) method = readText(reader);
    else if (field === HOST) host = readText(reader);
    else if (field === TARGET) target = readText(reader);
    else clientAddress = readText(reader);
  }
  return { method, host, target, clientAddress, headers };
}

function readHeaders(reader: JsonReader): DescribedRequest['headers'] {
  const headers: [string, string][] = [];
  for (let name = reader.firstName(); name !== null; name = reader.nextName()) {
    if (headers.length === MAX_HEADERS) throw reader.refuse(TOO_MANY_HEADERS, 'too_large');
    headers.push([name, readText(reader)]);
  }
  return headers;
}

function readText(reader: JsonReader): string {
  const text = reader.string();
  if (text.length > MAX_TEXT) throw reader.refuse(TOO_LONG, 'too_large');
  return text;
}
