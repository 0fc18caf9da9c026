import { UNIT_NAMES } from '../messages/unit.ts';
import type { CompiledRules } from './compiled-rules.ts';
import { LIMIT, LIMIT_FLAG } from './layout.ts';

/**
 * The rules in force as `/rlconfig` prints them, in the reference implementation's format: a line for each entry with
 * a limit, in definition order. Paths are as configured, wildcards included. Unlimited rules print the unit UNKNOWN
 * and their configured number. None when there are no limits. Lines are made as they are asked for: the text of all
 * rules may take longer than other work can wait.
 */
export function* dumpRules(rules: CompiledRules): Iterable<string> {
  for (let limit = 0; limit < rules.limitCount; limit++) {
    const flags = rules.limit(limit, LIMIT.flags);
    const unit = UNIT_NAMES[rules.limit(limit, LIMIT.unit)];
    const modes = `shadow_mode: ${(flags & LIMIT_FLAG.shadow) !== 0}, quota_mode: ${(flags & LIMIT_FLAG.quota) !== 0}`;
    yield `${rules.path(limit)}: unit=${unit} requests_per_unit=${rules.requestsPerUnit(limit)}, ${modes}\n`;
  }
}
