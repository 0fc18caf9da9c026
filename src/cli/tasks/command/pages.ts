import { type ApiTarget, callApi, type Json, rowsOf } from './tasks-api.ts';

/** What one request may ask for. */
const PAGE = 200;

/** Everything that a list holds, page after page, up to `limit`. */
export async function allOf(
  target: ApiTarget,
  path: string,
  query: URLSearchParams,
  limit: number,
): Promise<readonly Json[]> {
  const found: Json[] = [];
  let cursor: string | null = null;
  do {
    const asked = new URLSearchParams(query);
    asked.set('limit', String(Math.min(PAGE, limit - found.length)));
    if (cursor !== null) asked.set('cursor', cursor);
    const page = await callApi(target, { method: 'GET', path: `${path}?${asked}` });
    found.push(...rowsOf(target, page, 'data'));
    cursor = (page['next_cursor'] as string | null | undefined) ?? null;
  } while (cursor !== null && found.length < limit);
  return found;
}
