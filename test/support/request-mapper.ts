import { systemClock } from '../../src/base/clock.ts';
import { NOT_COUNTED } from '../../src/mapping/mapping-counters.ts';
import { RequestMapper } from '../../src/mapping/request-mapper.ts';
import type { CompiledRules } from '../../src/rules/compiled-rules.ts';
import { KeepingLogger } from './keeping-logger.ts';

/** Maps requests by these rules, and counts nothing. Without rules, no domain maps requests. */
export function mapperOf(rules: CompiledRules | null = null): RequestMapper {
  const log = new KeepingLogger();
  return new RequestMapper({ rules: () => rules, counters: NOT_COUNTED, clock: systemClock, log });
}
