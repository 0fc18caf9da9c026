import { Chip } from '../../../design/chip.tsx';
import { formatCount } from '../../../design/format.ts';
import { Panel } from '../../../design/panel.tsx';
import { Link } from '../../../design/route.ts';
import { Time } from '../../../design/time.tsx';
import type { LimitDetails } from '../../api.ts';
import type { RecordKind, SteeringRecord } from '../../change/record.ts';
import { type Descriptor, descriptorText } from '../../descriptor.ts';
import { useNow } from '../../live-state.ts';
import { usePolled } from '../../polled.ts';

/** The overrides, bans and passes that may concern keys of the limit. */
export function LimitRecords({ limit }: { readonly limit: LimitDetails }) {
  const overrides = usePolled<{ readonly overrides: readonly SteeringRecord[] }>('/overrides').answer;
  const bans = usePolled<{ readonly bans: readonly SteeringRecord[] }>('/bans').answer;
  const passes = usePolled<{ readonly passes: readonly SteeringRecord[] }>('/passes').answer;
  const all = [...(bans?.bans ?? []), ...(passes?.passes ?? []), ...(overrides?.overrides ?? [])];
  const own = all.filter(record => mayConcern(record, limit));
  const nowMs = useNow();
  if (own.length === 0) return null;
  return (
    <Panel title="Changed by operators" actions={<Link query={{ view: 'changes' }}>All changes</Link>}>
      <ul class="records">
        {own.map(record => (
          <li key={record.id}>
            <RecordChip kind={record.kind} />
            <span class="record-what">
              <span>{descriptorText(record.entries)}</span>
              {record.kind === 'override' && <span> {overrideText(record)}</span>}
            </span>
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

const CHIPS = {
  override: ['neutral', 'Override'],
  ban: ['rejected', 'Ban'],
  pass: ['allowed', 'Pass'],
} as const;

function RecordChip({ kind }: { readonly kind: RecordKind }) {
  const [color, text] = CHIPS[kind];
  return <Chip kind={color}>{text}</Chip>;
}

function overrideText({ requests_per_unit: limit, factor = 1 }: SteeringRecord): string {
  return limit === undefined ? `limit × ${formatCount(factor)}` : `limit ${formatCount(limit)}`;
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
