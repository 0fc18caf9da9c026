import { PROBLEMS, type Problem } from '../checks/problem.ts';
import type { ObjectSchema } from '../checks/schema.ts';

/** Why an item of a request was refused, as answers that tell of each item have it. */
export const ITEM_ERROR: ObjectSchema = {
  type: 'object',
  name: 'ItemError',
  optional: true,
  properties: {
    code: { type: 'string', enum: Object.keys(PROBLEMS) },
    title: { type: 'string' },
    detail: { type: 'string' },
    task_id: { type: 'string', optional: true, description: 'The task that has the key.' },
    limit: { type: 'string', optional: true },
    max: { type: 'number', optional: true },
    errors: {
      type: 'array',
      optional: true,
      items: {
        type: 'object',
        properties: {
          pointer: { type: 'string', optional: true, description: 'Below the item.' },
          parameter: { type: 'string', optional: true },
          code: { type: 'string' },
          detail: { type: 'string' },
        },
      },
    },
  },
};

/** What became of one item: a status as if it had been asked for alone, and the task or the reason. */
export interface ItemResult {
  readonly status: number;
  readonly task?: Record<string, unknown>;
  readonly error?: Record<string, unknown>;
}

export function refusedItem({ code, status, message, extras }: Problem): ItemResult {
  const { errors, members } = extras;
  const known = { code, title: PROBLEMS[code][1], detail: message };
  return { status, error: { ...known, ...members, ...(errors === undefined ? {} : { errors }) } };
}
