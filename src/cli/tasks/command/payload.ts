import { readFileSync } from 'node:fs';
import { asError } from '../../../base/fault.ts';
import { CommandFault, UsageFault } from '../../terminal/command-fault.ts';
import type { Json } from './tasks-api.ts';

const TEXT = { kind: 'text', default: '' } as const;

/** What a task, a test or a schedule sends. */
export const PAYLOAD_FLAGS = {
  payload: { ...TEXT, placeholder: 'JSON', help: 'the payload, or @FILE to read it from a file' },
  'payload-base64': {
    ...TEXT,
    placeholder: 'TEXT',
    help: 'bytes instead of JSON, in base64; or @FILE to send the bytes of a file',
  },
  'content-type': {
    ...TEXT,
    placeholder: 'TYPE',
    help: 'of --payload-base64; without it, application/octet-stream',
  },
} as const;

/**
 * The fields of a request that {@link PAYLOAD_FLAGS} stand for.
 *
 * @throws UsageFault, CommandFault
 */
export function payloadFields(flags: Readonly<Record<keyof typeof PAYLOAD_FLAGS, string>>): Json {
  const { payload, 'payload-base64': base64, 'content-type': type } = flags;
  return {
    ...(payload !== '' && { payload: jsonOf(payload) }),
    ...(base64 !== '' && { payload_base64: base64Of(base64) }),
    ...(type !== '' && { content_type: type }),
  };
}

function jsonOf(text: string): unknown {
  const json = text.startsWith('@') ? contentOf(text.slice(1)).toString('utf8') : text;
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw new UsageFault(
      `--payload is not JSON: ${asError(cause).message}. A text goes in quotes: '"text"'.`,
    );
  }
}

function base64Of(text: string): string {
  return text.startsWith('@') ? contentOf(text.slice(1)).toString('base64') : text;
}

function contentOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new CommandFault(`the payload cannot be read: ${asError(cause).message}`, { cause });
  }
}
