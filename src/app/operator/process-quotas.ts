import { lookAtDesk } from '../../quota/desk-view.ts';
import type { LookAtQuotas } from '../../quota/merged-view.ts';
import type { Decisions } from '../decision/decisions.ts';
import type { PrimaryThread } from '../surroundings.ts';

/** Looks at the quotas of all threads of the process; null if the counter store cannot grant any. */
export function processQuotas(
  { settings, clock }: PrimaryThread,
  { quotas, serving }: Pick<Decisions, 'quotas' | 'serving'>,
): LookAtQuotas | null {
  if (settings.backendType === 'memcached') return null;
  if (serving !== null) return question => serving.quotas.look(question);
  if (quotas === null) return null;
  return async question => ({ view: await lookAtDesk(quotas, question, clock.nowMs()), isComplete: true });
}
