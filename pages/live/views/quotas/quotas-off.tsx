import { Empty } from '../../../design/states.tsx';

/** In place of quotas, if the counter store cannot grant any. */
export function QuotasOff() {
  return (
    <Empty title="This process grants no quotas">
      Hits that proxies do not need are given back, which memcached cannot do. Set <code>BACKEND_TYPE</code>{' '}
      to <code>redis</code> or <code>memory</code>.
    </Empty>
  );
}
