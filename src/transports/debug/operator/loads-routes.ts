import type { ObjectSchema } from '../../../base/schema/schema.ts';
import { MAX_LISTED, MAX_LOADS, type RuleLoad, type RuleLoads } from '../../../rules/rule-loads.ts';
import type { OperatorRoute } from './route.ts';

const PATHS = {
  type: 'array',
  items: { type: 'string' },
  description: `At most ${MAX_LISTED} paths.`,
} as const;

const LOAD: ObjectSchema = {
  type: 'object',
  name: 'RuleLoad',
  properties: {
    time: { type: 'string', format: 'date-time' },
    outcome: {
      type: 'string',
      enum: ['active', 'refused', 'failed'],
      description:
        '`refused`: the rules have faults. `failed`: they could not be compiled for another reason.',
    },
    reasons: { type: 'array', items: { type: 'string' }, description: 'Empty if the rules were loaded.' },
    faults: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          file: { type: 'string' },
          line: { type: 'number', integer: true, description: 'From 1; 0 for the whole file.' },
          column: { type: 'number', integer: true },
          path: { type: 'string' },
          message: { type: 'string' },
        },
      },
    },
    domains: { type: 'number', integer: true, nullable: true },
    limits: { type: 'number', integer: true, nullable: true },
    difference: {
      type: 'object',
      nullable: true,
      description: 'From the rules before. Null for the first load, and if the rules were not loaded.',
      properties: {
        added_count: { type: 'number', integer: true },
        removed_count: { type: 'number', integer: true },
        changed_count: { type: 'number', integer: true },
        added: PATHS,
        removed: PATHS,
        changed: {
          type: 'array',
          items: {
            type: 'object',
            properties: { path: { type: 'string' }, before: { type: 'string' }, after: { type: 'string' } },
          },
        },
      },
    },
  },
};

/** `GET /loads`. */
export function loadsRoutes(loads: Pick<RuleLoads, 'all'>): OperatorRoute[] {
  return [
    {
      method: 'GET',
      path: '/loads',
      operation: 'listLoads',
      summary: `List the last ${MAX_LOADS} loads of rules, with their faults and what they changed`,
      access: 'read',
      answer: {
        description: 'The loads, the latest first.',
        schema: { type: 'object', properties: { loads: { type: 'array', items: LOAD } } },
      },
      handle: () => ({ json: { loads: loads.all.map(loadView) } }),
    },
  ];
}

function loadView({ atMs, outcome, reasons, faults, size, difference }: RuleLoad): Record<string, unknown> {
  return {
    time: new Date(atMs).toISOString(),
    outcome,
    reasons,
    faults,
    domains: size?.domains ?? null,
    limits: size?.limits ?? null,
    difference:
      difference === null
        ? null
        : {
            added_count: difference.addedCount,
            removed_count: difference.removedCount,
            changed_count: difference.changedCount,
            added: difference.added,
            removed: difference.removed,
            changed: difference.changed,
          },
  };
}
