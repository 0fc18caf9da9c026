import { Chip } from '../design/chip.tsx';
import { formatCount } from '../design/format.ts';
import { Time } from '../design/time.tsx';
import type { Status } from './api.ts';
import { useLive } from './live-state.ts';

/** The health of the service, its store, its rules and the processes that share the store, in one line. */
export function ServiceFacts() {
  const { status, nowMs } = useLive();
  if (status === null) return null;
  const { rules, processes } = status;
  return (
    <>
      <Health status={status} />
      <StoreOutage status={status} />
      <span class="fact-store" title={storeTitle(status)}>
        {storeName(status)}
      </span>
      <span class="fact-more">{countOf(Math.max(processes.length, 1), 'instance')}</span>
      <span class="fact-more">
        {countOf(rules.limits, 'limit')}
        {rules.loaded !== null && (
          <>
            , loaded <Time iso={rules.loaded} nowMs={nowMs} />
          </>
        )}
      </span>
      {rules.faults > 0 && (
        <Chip kind="error">
          {countOf(rules.faults, 'fault')}
          <span class="hides-narrow"> in the last load</span>
        </Chip>
      )}
    </>
  );
}

function Health({ status: { healthy, components } }: { readonly status: Status }) {
  if (healthy) return <Chip kind="allowed">Healthy</Chip>;
  const failing = components.filter(component => !component.healthy).map(({ name }) => name);
  return <Chip kind="error">{failing.length === 0 ? 'Unhealthy' : `Unhealthy: ${failing.join(', ')}`}</Chip>;
}

/** What happens to requests during an outage of the store, by STORE_FAILURE_MODE. */
const MEANWHILE: Readonly<Record<string, string>> = {
  error: 'requests get errors',
  allow: 'requests are allowed',
  deny: 'requests are rejected',
  local: 'each process counts for itself',
};

/** An outage does not make the service unhealthy: a restart would not end it. */
function StoreOutage({ status: { store } }: { readonly status: Status }) {
  if (store.connected) return null;
  return (
    <Chip kind="error">
      Store down
      <span class="hides-narrow">: {MEANWHILE[store.failure_mode] ?? store.failure_mode}</span>
    </Chip>
  );
}

/** `Redis at 10.0.0.5:6379`, or where counters are otherwise. */
export function storeName({ store }: Status): string {
  return store.type === 'embedded' ? 'Embedded store' : store.address;
}

function storeTitle({ store }: Status): string {
  if (store.type === 'embedded') return 'Counters are in this process.';
  return store.connected ? 'The counter store is connected.' : 'The counter store is not connected.';
}

/** `1 limit`, or `5 limits`. */
export function countOf(count: number, what: string): string {
  return `${formatCount(count)} ${what}${count === 1 ? '' : 's'}`;
}
