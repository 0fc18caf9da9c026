import { HISTORY_FIRST_KEPT } from '../../../../model/task.ts';
import { STATUS } from '../../../codes.ts';

const ENTRY = 'e.n, e.at, e.event, e.came_from, e.led_to, e.attempt, e.actor, e.lease, e.next_at, e.more';

/** Functions that read single tasks, their bodies and histories. */
export const READS = `
CREATE FUNCTION fn.get(p_tenant text, p_id text) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  RETURN (
    SELECT fn.shown(k) FROM sluice.task k JOIN sluice.tenant t ON t.no = k.tenant WHERE t.name = p_tenant AND k.id = p_id
  );
END $$;

-- [task, payload, headers, result]
CREATE FUNCTION fn.get_whole(p_tenant text, p_id text) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  RETURN (
    SELECT json_build_array(fn.shown(k), b.payload, b.headers, b.result)
    FROM sluice.task k JOIN sluice.tenant t ON t.no = k.tenant JOIN sluice.body b ON b.seq = k.seq
    WHERE t.name = p_tenant AND k.id = p_id
  );
END $$;

-- For each id, as far as p_bytes allow: [payload, headers, result], or null for a task that does not exist.
CREATE FUNCTION fn.bodies(p_tenant text, p_ids text[], p_bytes int) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_tenant int := (SELECT no FROM sluice.tenant WHERE name = p_tenant);
BEGIN
  RETURN (
    WITH found AS (
      SELECT u.place, b.seq, coalesce(octet_length(b.payload), 0) + coalesce(octet_length(b.result), 0) AS size
      FROM unnest(p_ids) WITH ORDINALITY AS u (id, place)
      LEFT JOIN sluice.task k ON k.tenant = v_tenant AND k.id = u.id LEFT JOIN sluice.body b ON b.seq = k.seq
    ), sums AS (
      SELECT f.place, f.seq, f.size, sum(f.size) OVER (ORDER BY f.place) AS total FROM found f
    ), cut AS (
      SELECT min(s.place) AS place FROM sums s WHERE s.seq IS NOT NULL AND s.total > p_bytes AND s.total > s.size
    )
    SELECT json_agg(
      CASE WHEN s.seq IS NOT NULL THEN json_build_array(b.payload, b.headers, b.result) END ORDER BY s.place
    )
    FROM sums s CROSS JOIN cut c LEFT JOIN sluice.body b ON b.seq = s.seq WHERE coalesce(s.place < c.place, true)
  );
END $$;

CREATE FUNCTION fn.entry_values(e sluice.event) RETURNS json LANGUAGE sql AS $$ SELECT json_build_array(${ENTRY}) $$;

-- [number of entries, entries, the last entry before dropped ones]; null if the task does not exist.
CREATE FUNCTION fn.history(p_tenant text, p_id text, p_after int, p_limit int, p_descending boolean) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
  x record;
BEGIN
  SELECT k.seq, k.events INTO x FROM sluice.task k JOIN sluice.tenant t ON t.no = k.tenant
  WHERE t.name = p_tenant AND k.id = p_id;
  IF NOT FOUND THEN RETURN NULL; END IF;
  RETURN json_build_array(
    x.events,
    CASE WHEN p_descending THEN ARRAY(
      SELECT fn.entry_values(e) FROM sluice.event e WHERE e.seq = x.seq AND e.n < coalesce(p_after, x.events + 1)
      ORDER BY e.n DESC LIMIT p_limit
    ) ELSE ARRAY(
      SELECT fn.entry_values(e) FROM sluice.event e WHERE e.seq = x.seq AND e.n > coalesce(p_after, 0)
      ORDER BY e.n LIMIT p_limit
    ) END,
    (SELECT fn.entry_values(e) FROM sluice.event e WHERE e.seq = x.seq AND e.n = ${HISTORY_FIRST_KEPT})
  );
END $$;
`;

const OPEN = [STATUS.scheduled, STATUS.running, STATUS.retry, STATUS.paused].join(',');

/** Functions that list tasks. Each status is one range of an index, so that a page costs the same however many tasks there are. */
export const LISTS = `
-- p_way: the index that serves the query: all, status, worker, schedule or key. p_value: the schedule or the key.
-- p_only: only tasks of this worker, in a list of another index.
CREATE FUNCTION fn.list(
  p_tenant text, p_way text, p_worker text, p_value text, p_only boolean, p_statuses int[], p_from text, p_before text,
  p_limit int, p_descending boolean
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_tenant int := (SELECT no FROM sluice.tenant WHERE name = p_tenant);
  v_worker int := (SELECT no FROM sluice.worker WHERE tenant = v_tenant AND id = p_worker);
  v_order text := CASE WHEN p_descending THEN 'DESC' ELSE 'ASC' END;
  v_answer json;
BEGIN
  IF v_tenant IS NULL OR (p_worker IS NOT NULL AND v_worker IS NULL) THEN RETURN NULL; END IF;
  EXECUTE 'SELECT json_agg(fn.shown(x.t) ORDER BY (x.t).id ' || v_order || ') FROM (
    SELECT u.t FROM unnest($4::int[]) AS s CROSS JOIN LATERAL (
      SELECT k AS t FROM sluice.task k WHERE k.id >= $5 AND k.id < $6 AND ' || CASE p_way
        WHEN 'all' THEN 'k.tenant = $1'
        WHEN 'status' THEN 'k.tenant = $1 AND k.status = s'
        WHEN 'worker' THEN '0 + k.worker = $2 AND k.status = s'
        WHEN 'schedule' THEN 'k.tenant = $1 AND k.schedule = $3 AND k.status = s'
        WHEN 'key' THEN 'k.tenant = $1 AND k.key = $3'
      END || CASE WHEN p_only THEN ' AND k.worker = $2' ELSE '' END || '
      ORDER BY k.id ' || v_order || ' LIMIT $7
    ) AS u ORDER BY (u.t).id ' || v_order || ' LIMIT $7
  ) AS x' INTO v_answer USING v_tenant, v_worker, p_value, p_statuses, p_from, p_before, p_limit;
  RETURN v_answer;
END $$;

CREATE FUNCTION fn.open_of_schedule(p_tenant text, p_schedule text, p_limit int) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_tenant int := (SELECT no FROM sluice.tenant WHERE name = p_tenant);
BEGIN
  RETURN array_to_json(ARRAY(
    SELECT t.id FROM unnest('{${OPEN}}'::smallint[]) AS s CROSS JOIN LATERAL (
      SELECT id FROM sluice.task WHERE tenant = v_tenant AND schedule = p_schedule AND status = s ORDER BY id LIMIT p_limit
    ) AS t ORDER BY t.id LIMIT p_limit
  ));
END $$;
`;
