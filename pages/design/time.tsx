import { formatAgo } from './format.ts';

/** A time, relative to `nowMs`. The absolute time is in the title, as ISO 8601. */
export function Time({ iso, nowMs }: { readonly iso: string; readonly nowMs: number }) {
  return (
    <time dateTime={iso} title={iso}>
      {formatAgo(Date.parse(iso), nowMs)}
    </time>
  );
}
