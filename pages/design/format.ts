/** Between groups of three digits, so that long numbers can be read. */
const THIN_SPACE = '\u2009';

/** A number with thin spaces between thousands: `41 200`, `0.25`, `-3`. At most two decimals, none from 100 on. */
export function formatCount(n: number): string {
  if (!Number.isFinite(n)) return '–';
  const magnitude = Math.abs(n);
  const decimals = magnitude >= 100 || Number.isInteger(n) ? 0 : magnitude >= 10 ? 1 : 2;
  const [whole, fraction = ''] = magnitude.toFixed(decimals).split('.');
  const digits = whole.replaceAll(/\B(?=(\d{3})+$)/g, THIN_SPACE);
  const kept = fraction.replace(/0+$/, '');
  const sign = n < 0 && Number(magnitude.toFixed(decimals)) > 0 ? '−' : '';
  return `${sign}${digits}${kept === '' ? '' : `.${kept}`}`;
}

/** A rate: `41 200/s`, `0.2/s`. A rate that is too small to show is `< 0.01/s`. */
export function formatRate(perSecond: number): string {
  if (perSecond > 0 && perSecond < 0.01) return '< 0.01/s';
  return `${formatCount(perSecond)}/s`;
}

/** A share in percent: `1.8 %`; `–` if there is no whole. Shares between 0 and 0.1 % are `< 0.1 %`. */
export function formatShare(part: number, whole: number): string {
  if (!(whole > 0)) return '–';
  const percent = (part / whole) * 100;
  if (percent > 0 && percent < 0.1) return `< 0.1${THIN_SPACE}%`;
  if (percent < 100 && percent > 99.9) return `> 99.9${THIN_SPACE}%`;
  const text = percent >= 10 ? formatCount(Math.round(percent)) : Number(percent.toFixed(1));
  return `${text}${THIN_SPACE}%`;
}

/** Milliseconds: `0.4 ms`, `1 200 ms`. */
export function formatMs(ms: number): string {
  return `${formatCount(ms)}${THIN_SPACE}ms`;
}

/** A duration in its largest unit: `4s`, `12m`, `3h`, `2d`. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`;
}

/** How long ago a time was: `now`, `12s ago`, `3h ago`; a time to come is `in 5m`. */
export function formatAgo(fromMs: number, nowMs: number): string {
  const passed = nowMs - fromMs;
  if (Math.abs(passed) < 1000) return 'now';
  return passed > 0 ? `${formatDuration(passed)} ago` : `in ${formatDuration(-passed)}`;
}
