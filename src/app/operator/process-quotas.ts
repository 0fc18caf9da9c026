import { lookAtDesk } from '../../quota/desk-view.ts';
import type { BucketExplainer } from '../../quota/explain-bucket.ts';
import type { LookAtQuotas } from '../../quota/merged-view.ts';
import type { Decisions } from '../decision/decisions.ts';
import type { PrimaryThread } from '../surroundings.ts';

/** The quotas of all threads of the process; null if the counter store cannot grant any. */
export function processQuotas(
  { settings, clock }: PrimaryThread,
  { quotas, serving, bucketExplainer: explainer }: Pick<Decisions, 'quotas' | 'serving' | 'bucketExplainer'>,
): { readonly look: LookAtQuotas; readonly explainer: BucketExplainer } | null {
  if (settings.backendType === 'memcached') return null;
  if (serving !== null) return { look: question => serving.quotas.look(question), explainer };
  if (quotas === null) return null;
  const look: LookAtQuotas = async question => ({
    view: await lookAtDesk(quotas, question, clock.nowMs()),
    isComplete: true,
  });
  return { look, explainer };
}
