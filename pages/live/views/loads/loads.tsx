import { Chip } from '../../../design/chip.tsx';
import { formatCount } from '../../../design/format.ts';
import { Panel } from '../../../design/panel.tsx';
import { Link } from '../../../design/route.ts';
import { Empty, Failure, Skeleton } from '../../../design/states.tsx';
import { Time } from '../../../design/time.tsx';
import { Digest } from '../../digest.tsx';
import { useNow } from '../../live-state.ts';
import { usePolled } from '../../polled.ts';
import { countOf } from '../../service-facts.tsx';

/** A load of rules. */
interface Load {
  readonly time: string;
  readonly outcome: 'active' | 'refused' | 'failed';
  readonly reasons: readonly string[];
  readonly faults: readonly {
    readonly file: string;
    /** 0 for the whole file. */
    readonly line: number;
    readonly column: number;
    readonly path: string;
    readonly message: string;
  }[];
  readonly domains: number | null;
  readonly limits: number | null;
  /** Equal for rules that say the same; null if they were not loaded. */
  readonly digest: string | null;
  /** Null for the first load, and if the rules were not loaded. */
  readonly difference: Difference | null;
}

/** The lists have at most 50 limits. */
interface Difference {
  readonly added_count: number;
  readonly removed_count: number;
  readonly changed_count: number;
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly { readonly path: string; readonly before: string; readonly after: string }[];
}

/** The last loads of rules: which ones are active, what they changed, and the faults of those that are not. */
export function Loads() {
  const { answer, error, reload } = usePolled<{ readonly loads: readonly Load[] }>('/loads');
  const active = answer?.loads.findIndex(({ outcome }) => outcome === 'active');
  return (
    <>
      <h1>Which rules are active, and what did the last load change?</h1>
      {answer === null && error === null && <Skeleton lines={8} />}
      {answer === null && error !== null && <Failure error={error} onRetry={reload} />}
      {answer !== null && answer.loads.length === 0 && (
        <Empty title="No rules were loaded yet">
          Sluice loads the rules when it finds the first rule file.
        </Empty>
      )}
      {answer?.loads.map((load, i) => (
        <LoadPanel key={load.time} load={load} isActive={i === active} />
      ))}
    </>
  );
}

function LoadPanel({ load, isActive }: { readonly load: Load; readonly isActive: boolean }) {
  const nowMs = useNow();
  const { time, outcome, reasons, faults, domains, limits, digest, difference } = load;
  return (
    <Panel
      title={
        isActive
          ? 'Active rules'
          : outcome === 'active'
            ? 'Rules that were replaced'
            : 'Rules that were not loaded'
      }
      note={<Time iso={time} nowMs={nowMs} />}
      actions={
        outcome === 'active' ? (
          <Chip kind={isActive ? 'allowed' : 'neutral'}>{isActive ? 'Active' : 'Replaced'}</Chip>
        ) : (
          <Chip kind="error">{outcome === 'refused' ? 'Faults' : 'Failed'}</Chip>
        )
      }
    >
      <div class="definition">
        {limits !== null && domains !== null && (
          <p>
            {countOf(limits, 'limit')} in {countOf(domains, 'domain')}
            {digest !== null && (
              <>
                , <Digest digest={digest} />
              </>
            )}
          </p>
        )}
        {faults.length > 0 && (
          <ul class="load-faults">
            {faults.map(({ file, line, column, path, message }, i) => (
              <li key={i}>
                <code class="break">{line === 0 ? file : `${file}:${line}:${column}`}</code>
                <span class="break">
                  {path !== '' && <span class="quiet">{path}: </span>}
                  {message}
                </span>
              </li>
            ))}
          </ul>
        )}
        {faults.length === 0 && reasons.map((reason, i) => <p key={i}>{reason}</p>)}
        {difference === null && outcome === 'active' && <p class="quiet">The first rules of this process.</p>}
        {difference !== null && <DifferenceLists difference={difference} />}
      </div>
    </Panel>
  );
}

function DifferenceLists({ difference }: { readonly difference: Difference }) {
  const { added, removed, changed } = difference;
  const isSame = difference.added_count + difference.removed_count + difference.changed_count === 0;
  if (isSame) return <p class="quiet">No limit is different from the load before.</p>;
  return (
    <div class="load-lists">
      <PathList title="Added" count={difference.added_count} paths={added} isLinked />
      <PathList title="Removed" count={difference.removed_count} paths={removed} />
      {changed.length > 0 && (
        <div>
          <h3>Changed: {formatCount(difference.changed_count)}</h3>
          <ul>
            {changed.map(({ path, before, after }) => (
              <li key={path} class="break">
                <Link query={{ view: 'limit', path }}>{path}</Link>
                <br />
                <span class="quiet">
                  {before} → {after}
                </span>
              </li>
            ))}
          </ul>
          <More count={difference.changed_count} shown={changed.length} />
        </div>
      )}
    </div>
  );
}

interface PathListProps {
  readonly title: string;
  readonly count: number;
  readonly paths: readonly string[];
  readonly isLinked?: boolean;
}

function PathList({ title, count, paths, isLinked = false }: PathListProps) {
  if (count === 0) return null;
  return (
    <div>
      <h3>
        {title}: {formatCount(count)}
      </h3>
      <ul>
        {paths.map(path => (
          <li key={path} class="break">
            {isLinked ? <Link query={{ view: 'limit', path }}>{path}</Link> : path}
          </li>
        ))}
      </ul>
      <More count={count} shown={paths.length} />
    </div>
  );
}

function More({ count, shown }: { readonly count: number; readonly shown: number }) {
  return count > shown ? <p class="quiet">and {formatCount(count - shown)} more</p> : null;
}
