import { formatCount } from '../../../design/format.ts';
import type { QuotaLimit } from './quota.ts';

const WIDTH = 200;
const HEIGHT = 6;

/** The parts of a limit, in the order of the bar. Each is an amount of hits. */
interface Part {
  readonly kind: 'spent' | 'unreported' | 'others' | 'left';
  readonly hits: number;
  readonly words: string;
}

/** Null if the limit never refuses, or if it is not known what is left. */
function partsOf({ grantable, spent, unreported, paid, left }: QuotaLimit): readonly Part[] | null {
  if (grantable === null || left === null) return null;
  const used = Math.min(spent ?? 0, paid);
  const granted = Math.min(unreported, paid - used);
  const others = Math.max(0, grantable - used - granted - left);
  return [
    ...(spent === null ? [] : [{ kind: 'spent', hits: used, words: 'used by proxies' } as const]),
    { kind: 'unreported', hits: granted, words: 'granted' },
    { kind: 'others', hits: others, words: spent === null ? 'counted' : 'counted by others' },
    { kind: 'left', hits: left, words: 'left' },
  ];
}

interface ShareBarProps {
  readonly limit: QuotaLimit;
  /** Whether all parts are also in words; otherwise only what is left. */
  readonly isLong?: boolean;
}

/** What proxies of this process have used of a limit and can still use, what others have used, and what is left. */
export function ShareBar({ limit, isLong = false }: ShareBarProps) {
  const parts = partsOf(limit);
  if (parts === null) return <span class="quiet">{formatCount(limit.paid)} counted</span>;
  const whole = Math.max(1, limit.grantable ?? 0);
  let at = 0;
  return (
    <span class={isLong ? 'share-bar share-bar-long' : 'share-bar'}>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        <rect class="share-left" width={WIDTH} height={HEIGHT} />
        {parts.map(({ kind, hits }) => {
          const x = at;
          const width = Math.min((hits / whole) * WIDTH, WIDTH - x);
          at += width;
          return (
            kind !== 'left' && <rect key={kind} class={`share-${kind}`} x={x} width={width} height={HEIGHT} />
          );
        })}
      </svg>
      {isLong ? (
        <ul class="share-legend">
          {parts.map(({ kind, hits, words }) => (
            <li key={kind}>
              <svg viewBox="0 0 8 8" aria-hidden="true">
                <rect class={`share-${kind}`} width="8" height="8" rx="2" />
              </svg>
              {formatCount(Math.round(hits))} {words}
            </li>
          ))}
        </ul>
      ) : (
        <span class="small quiet">
          {formatCount(limit.left ?? 0)} of {formatCount(whole)} left
        </span>
      )}
    </span>
  );
}
