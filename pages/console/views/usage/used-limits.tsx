import { formatCount, formatDuration } from '../../../design/format.ts';
import { Meter } from '../../../design/meter.tsx';
import { Panel } from '../../../design/panel.tsx';
import type { UsedLimit } from './usage.ts';

const NAMES: Readonly<Record<string, string>> = {
  in_flight: 'Attempts in flight',
  dispatch_per_second: 'Starts per second',
  open_tasks: 'Open tasks',
  workers: 'Workers',
  schedules: 'Schedules',
  users: 'Users',
  read_calls: 'Calls that read',
  write_calls: 'Calls that write',
};

/** The limits of the account, each with how much of it is used now. */
export function UsedLimits({ limits }: { readonly limits: Readonly<Record<string, UsedLimit | null>> }) {
  return (
    <Panel title="Limits" note="used now">
      <ul class="used-limits">
        {Object.entries(NAMES).map(([key, name]) => {
          const limit = limits[key] ?? null;
          if (limit === null) return null;
          return (
            <li key={key}>
              <span>
                {name}
                {windowText(limit)}
              </span>
              <Meter share={limit.limit > 0 ? limit.used / limit.limit : 1}>
                {`${formatCount(limit.used)} of ${formatCount(limit.limit)}`}
              </Meter>
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}

const UNITS: Readonly<Record<number, string>> = { 1: 'second', 60: 'minute', 3600: 'hour', 86400: 'day' };

function windowText({ window_seconds: seconds }: UsedLimit): string {
  if (seconds === undefined || seconds === null) return '';
  return `, per ${UNITS[seconds] ?? formatDuration(seconds * 1_000)}`;
}
