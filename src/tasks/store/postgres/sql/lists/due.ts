import { PRIORITIES } from '../../../../model/task-content.ts';
import { STATUS_CODES } from '../../../codes.ts';
import { MAX_DUE, MAX_DUE_WORKERS } from '../../../task-store.ts';

const BANDS = `unnest('{${PRIORITIES.map((_, band) => band).join(',')}}'::smallint[]) AS b (band)`;
const WAITS = 'status IN (0, 2) AND due_at IS NOT NULL';
const COUNTS = STATUS_CODES.map((_, status) => `coalesce(sum(n${status}), 0)`).join(', ');

function between(order: 'ASC' | 'DESC'): string {
  const range = `${WAITS} AND (due_at, id) > (p_low, p_low_id) AND (due_at, id) < (p_high, p_high_id)
        AND (expires_at IS NULL OR expires_at > v_now) ORDER BY due_at ${order}, id ${order} LIMIT p_limit`;
  return `ARRAY(
    SELECT x.t FROM (
      (SELECT u.t FROM ${BANDS} CROSS JOIN LATERAL (
        SELECT k AS t FROM sluice.task k WHERE worker = v_worker AND band = b.band AND grp IS NULL AND ${range}
      ) AS u)
      UNION ALL
      (SELECT k FROM sluice.task k WHERE worker - 0 = v_worker AND grp IS NOT NULL AND ${range})
    ) AS x (t) ORDER BY (x.t).due_at ${order}, (x.t).id ${order} LIMIT p_limit
  )`;
}

/** Functions that list and count waiting tasks by their due time, and tasks by their status. */
export const DUE = `
-- Waiting tasks of a worker by due time, between two bounds that are not included.
CREATE FUNCTION fn.list_due(
  p_time bigint, p_tenant text, p_worker text, p_low bigint, p_low_id text, p_high bigint, p_high_id text, p_limit int,
  p_descending boolean
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := fn.time_of(p_time);
  v_worker int;
  v_found sluice.task[];
BEGIN
  SELECT w.no INTO v_worker FROM sluice.worker w JOIN sluice.tenant n ON n.no = w.tenant
  WHERE n.name = p_tenant AND w.id = p_worker;
  IF p_descending THEN
    v_found := ${between('DESC')};
  ELSE
    v_found := ${between('ASC')};
  END IF;
  RETURN array_to_json(ARRAY(SELECT fn.shown(u) FROM unnest(v_found) AS u));
END $$;

CREATE FUNCTION fn.counts(p_tenant text, p_worker text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_tenant int := (SELECT no FROM sluice.tenant WHERE name = p_tenant);
  v_worker int := 0;
BEGIN
  IF p_worker IS NOT NULL THEN
    v_worker := (SELECT no FROM sluice.worker WHERE tenant = v_tenant AND id = p_worker);
  END IF;
  RETURN (SELECT json_build_array(${COUNTS}) FROM sluice.tally WHERE tenant = v_tenant AND worker = v_worker);
END $$;

CREATE FUNCTION fn.count_due(p_time bigint, p_max int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := fn.time_of(p_time);
BEGIN
  RETURN (SELECT count(*) FROM (SELECT FROM sluice.task WHERE ${WAITS} AND due_at <= v_now LIMIT p_max) AS x);
END $$;

-- [number of due tasks, due time of the oldest one]. Once enough are counted, only the first one of each range is read.
CREATE FUNCTION fn.due_of(p_time bigint, p_tenant text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := fn.time_of(p_time);
  v_count int := 0;
  v_oldest bigint;
  w record;
  x record;
BEGIN
  FOR w IN
    SELECT k.no FROM sluice.worker k JOIN sluice.tenant n ON n.no = k.tenant WHERE n.name = p_tenant AND (EXISTS (
      SELECT FROM ${BANDS} CROSS JOIN LATERAL (
        SELECT FROM sluice.task WHERE worker = k.no AND band = b.band AND grp IS NULL AND ${WAITS} AND due_at <= v_now
        ORDER BY due_at, id LIMIT 1
      ) AS t
    ) OR EXISTS (
      SELECT FROM sluice.task WHERE worker - 0 = k.no AND grp IS NOT NULL AND ${WAITS} AND due_at <= v_now
      ORDER BY due_at, id LIMIT 1
    )) ORDER BY k.id LIMIT ${MAX_DUE_WORKERS}
  LOOP
    SELECT count(*)::int AS n, min(t.due_at) AS oldest INTO x FROM (
      (SELECT t.due_at FROM ${BANDS} CROSS JOIN LATERAL (
        SELECT due_at FROM sluice.task WHERE worker = w.no AND band = b.band AND grp IS NULL AND ${WAITS} AND due_at <= v_now
        ORDER BY due_at, id LIMIT greatest(1, ${MAX_DUE} - v_count)
      ) AS t)
      UNION ALL
      (SELECT due_at FROM sluice.task WHERE worker - 0 = w.no AND grp IS NOT NULL AND ${WAITS} AND due_at <= v_now
        ORDER BY due_at, id LIMIT greatest(1, ${MAX_DUE} - v_count))
    ) AS t;
    v_count := least(${MAX_DUE}, v_count + x.n);
    v_oldest := least(v_oldest, x.oldest);
  END LOOP;
  RETURN json_build_array(v_count, v_oldest);
END $$;
`;
