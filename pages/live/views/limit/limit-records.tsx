import { Panel } from '../../../design/panel.tsx';
import { Link } from '../../../design/route.ts';
import { Time } from '../../../design/time.tsx';
import type { LimitDetails } from '../../api.ts';
import { RecordChip } from '../../change/record-chip.tsx';
import { useRecords } from '../../change/records.ts';
import { type Descriptor, descriptorText } from '../../descriptor.ts';
import { useNow } from '../../live-state.ts';

/** The overrides, bans and passes that may concern keys of the limit. */
export function LimitRecords({ limit }: { readonly limit: LimitDetails }) {
  const { records } = useRecords();
  const own = (records ?? []).filter(record => mayConcern(record, limit));
  const nowMs = useNow();
  if (own.length === 0) return null;
  return (
    <Panel title="Changed by operators" actions={<Link query={{ view: 'changes' }}>All changes</Link>}>
      <ul class="records">
        {own.map(record => (
          <li key={record.id}>
            <RecordChip record={record} />
            <span class="record-what">{descriptorText(record.entries)}</span>
            <span class="quiet">
              ends <Time iso={record.until} nowMs={nowMs} />
            </span>
            <span class="quiet record-reason" title={`${record.reason}\n${record.by}`}>
              {record.reason}
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** Whether both can match the same descriptor: the same keys, and values of which one may be a pattern. */
function mayConcern(record: Descriptor, { domain, entries }: Descriptor): boolean {
  return (
    record.domain === domain &&
    record.entries.length === entries.length &&
    record.entries.every(({ key, value = '' }, i) => {
      const own = entries[i];
      return key === own.key && (isPattern(value) || isPattern(own.value) || value === own.value);
    })
  );
}

function isPattern(value: string): boolean {
  return value === '' || value.includes('*');
}
