import { Forbidden } from '../../../design/states.tsx';

/** In place of tenants if the process serves no tasks. */
export function TenantsOff() {
  return (
    <Forbidden what="This process does not serve tasks, so it has no tenants">
      Set <code>TASKS_ENABLED=true</code> and start it again. If other processes serve tasks, open the page of
      one of them.
    </Forbidden>
  );
}
