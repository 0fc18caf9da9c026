import { MAX_LISTED, MAX_LOADS, type RuleLoad, type RuleLoads } from '../../../rules/words/rule-loads.ts';
import {
  choice,
  type Fields,
  list,
  object,
  objectSchema,
  objectView,
  orNull,
  text,
  time,
  timeText,
  whole,
} from './fields.ts';
import { type OperatorRoute, reads } from './route.ts';

/** The digest of rules in answers of the API; see `ruleDigest`. */
export const DIGEST = text(
  'Says which rules these are: rules that say the same have the same digest. 64 hex digits.',
);

const PATHS = list(text(), `At most ${MAX_LISTED} paths.`);

const DIFFERENCE: Fields<NonNullable<RuleLoad['difference']>> = {
  added_count: [whole(), ({ addedCount }) => addedCount],
  removed_count: [whole(), ({ removedCount }) => removedCount],
  changed_count: [whole(), ({ changedCount }) => changedCount],
  added: [PATHS, ({ added }) => added],
  removed: [PATHS, ({ removed }) => removed],
  changed: [list(object({ path: text(), before: text(), after: text() })), ({ changed }) => changed],
};

const LOAD: Fields<RuleLoad> = {
  time: [time(), ({ atMs }) => timeText(atMs)],
  outcome: [
    choice(
      ['active', 'refused', 'failed'],
      '`refused`: the rules have faults. `failed`: they could not be compiled for another reason.',
    ),
    ({ outcome }) => outcome,
  ],
  reasons: [list(text(), 'Empty if the rules were loaded.'), ({ reasons }) => reasons],
  faults: [
    list(
      object({
        file: text(),
        line: whole('From 1; 0 for the whole file.'),
        column: whole(),
        path: text(),
        message: text(),
      }),
    ),
    ({ faults }) => faults,
  ],
  domains: [orNull(whole()), ({ size }) => size?.domains ?? null],
  limits: [orNull(whole()), ({ size }) => size?.limits ?? null],
  digest: [orNull(DIGEST), ({ digest }) => digest],
  difference: [
    objectSchema(DIFFERENCE, {
      nullable: true,
      description: 'From the rules before. Null for the first load, and if the rules were not loaded.',
    }),
    ({ difference }) => (difference === null ? null : objectView(DIFFERENCE, difference)),
  ],
};

/** `GET /loads`. */
export function loadsRoutes(loads: Pick<RuleLoads, 'all'>): OperatorRoute[] {
  return [
    {
      ...reads(
        '/loads',
        'listLoads',
        `List the last ${MAX_LOADS} loads of rules, with their faults and what they changed`,
      ),
      answer: {
        description: 'The loads, the latest first.',
        schema: object({ loads: list(objectSchema(LOAD, { name: 'RuleLoad' })) }),
      },
      handle: () => ({ json: { loads: loads.all.map(load => objectView(LOAD, load)) } }),
    },
  ];
}
