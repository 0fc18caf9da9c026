import { formatShare } from './format.ts';

const WIDTH = 48;
const HEIGHT = 4;

/** From this share on, a meter has the color of what is near its limit. */
const NEAR = 0.8;

interface MeterProps {
  /** From 0; more than 1 if there is more than fits. */
  readonly share: number;
  /** The same in absolute numbers: `93 of 100`. */
  readonly children: string;
}

/** How full something is: the share in percent, as a bar, and in absolute numbers. */
export function Meter({ share, children }: MeterProps) {
  const kind = share >= 1 ? 'rejected' : share >= NEAR ? 'near' : 'plain';
  return (
    <span class="meter">
      <span class={`meter-share meter-${kind}`}>
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          <rect class="meter-whole" width={WIDTH} height={HEIGHT} rx={HEIGHT / 2} />
          <rect width={Math.max(Math.min(share, 1) * WIDTH, HEIGHT)} height={HEIGHT} rx={HEIGHT / 2} />
        </svg>
        {formatShare(share, 1)}
      </span>
      <span class="small quiet">{children}</span>
    </span>
  );
}
