import { bytesOf } from '../../model/task.ts';
import { parseExactly } from '../checks/exact-json.ts';
import type { Schema } from '../checks/schema.ts';

/** The payload of a task, or of a template, in answers. */
export const PAYLOAD_ANSWER = {
  payload: {
    type: 'any',
    nullable: true,
    optional: true,
    description:
      'Only where the caller may see payloads, as with headers and result; in lists only when asked for.',
  },
  payload_base64: {
    type: 'string',
    encoding: 'base64',
    optional: true,
    description: 'Only if the payload is not JSON, and payload is null. Shown as payload is.',
  },
  content_type: { type: 'string', optional: true, description: 'Only with payload_base64.' },
} as const satisfies Record<string, Schema>;

/** The fields of a payload as JSON text, without braces. JSON is inserted as the store has it. */
export function payloadText(payload: string | null): string {
  const bytes = bytesOf(payload);
  if (bytes === null) return `"payload":${payload}`;
  const { contentType, base64 } = bytes;
  return `"payload":null,"payload_base64":"${base64}","content_type":${JSON.stringify(contentType)}`;
}

export function payloadView(payload: string | null): Record<string, unknown> {
  const bytes = bytesOf(payload);
  if (bytes === null) return { payload: payload === null ? null : parseExactly(payload) };
  return { payload: null, payload_base64: bytes.base64, content_type: bytes.contentType };
}
