import type { JsonObject } from '../../base/json.ts';
import type { Kind, Reading } from './kinds.ts';

/** Headers in the order given. */
export type HeaderList = readonly (readonly [name: string, value: string])[];

/** What gRPC allows as a key of metadata. `grpc-…` is its own. */
const HEADER_NAME = /^(?!grpc-)[a-z0-9_.-]{1,128}$/;

/** Printable ASCII. */
const HEADER_VALUE = /^[\x20-\x7e]*$/;

/** `name:value,name:value`, as the reference implementation reads a map: split at commas, then at the one colon. */
export const headerList: Kind<HeaderList> = {
  label: 'name:value,name:value',
  accepts: 'name:value,name:value with names of headers, printable values, and no "," or ":" in either',
  read(text): Reading<HeaderList> {
    if (text.trim() === '') return { value: [] };
    const headers = new Map<string, string>();
    for (const part of text.split(',')) {
      const [name, value, more] = part.split(':');
      if (value === undefined || more !== undefined) return { refused: 'a part without exactly one ":"' };
      const known = HEADER_NAME.test(name.toLowerCase()) && HEADER_VALUE.test(value);
      if (!known) return { refused: 'a part that is no header' };
      headers.set(name.toLowerCase(), value);
    }
    return { value: [...headers] };
  },
  write: headers => headers.map(([name, value]) => `${name}:${value}`).join(','),
};

/**
 * `key=value,key=value`, as the reference implementation reads it (parts without `=` are left out), or a JSON object,
 * for values that are no texts or hold a comma.
 */
export const metadata: Kind<JsonObject> = {
  label: 'key=value,key=value, or a JSON object',
  accepts: 'key=value,key=value, or a JSON object',
  read(text): Reading<JsonObject> {
    if (/^\s*\{/.test(text)) return readObject(text);
    const pairs = text.split(',').flatMap((part): [string, string][] => {
      const split = part.indexOf('=');
      return split < 0 ? [] : [[part.slice(0, split), part.slice(split + 1)]];
    });
    return { value: Object.fromEntries(pairs) };
  },
  write: object => (Object.keys(object).length === 0 ? '' : JSON.stringify(object)),
};

function readObject(text: string): Reading<JsonObject> {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return { refused: 'it begins as JSON and is none' };
  }
}
