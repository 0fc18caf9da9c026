import type { SeededRandom } from '../../support/seeded-random.ts';
import type { RandomTenant } from './random-tenants.ts';
import type { Step } from './step.ts';

/** How the values of all secrets of random histories begin. */
const HIDDEN = 'hidden value of a secret ';
const SIGNING = `whsec_${Buffer.from(HIDDEN).toString('base64').slice(0, 30)}`;

/** Whether a text has the value of a secret in it. */
export function showsSecret(text: string): boolean {
  return text.includes(HIDDEN) || text.includes(SIGNING);
}

/** Somebody gives a worker a new secret, which replaces an earlier one after a while, or deletes one. */
export function changeSecret(random: SeededRandom, tenant: RandomTenant, at: number): Step[] {
  const worker = random.pick(tenant.workers).name;
  const path = `workers/${worker}/secrets`;
  const call = { at, do: 'ask', tenant: tenant.name } as const;
  const { secrets } = tenant;
  if (secrets.length > 0 && random.below(4) === 0) {
    const secret = random.pick(secrets);
    return [{ ...call, method: 'DELETE', path: `workers/${secret.worker}/secrets/{${secret.label}}` }];
  }
  const label = `${tenant.name}secret${secrets.length + 1}`;
  secrets.push({ label, worker });
  const value = `${HIDDEN}${label}`;
  const body = {
    ...(random.below(2) === 0
      ? { type: 'header', name: random.pick(['x-api-key', 'x-other-key']), value }
      : { type: 'signing', value: `whsec_${Buffer.from(value).toString('base64')}` }),
    expire_previous_in: random.pick(['0s', '2s', '8s', '1h']),
  };
  return [{ ...call, method: 'POST', path, body, labels: [label] }];
}
