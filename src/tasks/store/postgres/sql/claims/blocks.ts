/** Functions that say what would block a claim. They change nothing. */
export const BLOCKS = `
CREATE TYPE fn.blocked_worker AS (bounds fn.bounds, worker text, grp text, group_limit int, fifo boolean, task text);

CREATE FUNCTION fn.is_held_by_group(p_now bigint, p_worker int, b fn.blocked_worker) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v_first text;
BEGIN
  IF (SELECT running FROM sluice.task_group WHERE worker = p_worker AND name = b.grp) >= b.group_limit THEN RETURN true; END IF;
  IF NOT b.fifo THEN RETURN false; END IF;
  SELECT id INTO v_first FROM sluice.task
  WHERE worker + 0 = p_worker AND grp = b.grp AND status IN (0, 2) AND due_at IS NOT NULL
    AND (expires_at IS NULL OR expires_at > p_now) ORDER BY run_at, id LIMIT 1;
  RETURN coalesce(v_first <> b.task, false);
END $$;

-- For each worker: what blocks it, or null.
CREATE FUNCTION fn.blocks(p_time bigint, p_tenant text, p_workers json) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := fn.time_of(p_time);
  n sluice.tenant;
  w sluice.worker;
  b fn.blocked_worker;
  o fn.bounds;
  x record;
  v_found text[] := '{}';
BEGIN
  SELECT * INTO n FROM sluice.tenant WHERE name = p_tenant;
  IF NOT FOUND THEN RETURN '[]'; END IF;
  FOR b IN SELECT * FROM json_populate_recordset(NULL::fn.blocked_worker, p_workers) LOOP
    o := b.bounds;
    SELECT * INTO w FROM sluice.worker WHERE tenant = n.no AND id = b.worker;
    IF b.grp IS NOT NULL AND fn.is_held_by_group(v_now, w.no, b) THEN
      v_found := v_found || 'group'::text;
      CONTINUE;
    END IF;
    SELECT * INTO x FROM fn.tightest(
      v_now, w.throttled_until, fn.count_running(n.no, coalesce(w.no, -1)),
      fn.refilled(v_now, w.tokens, w.bucket_at, o.rate_limit, o.rate_per, o.rate_burst), fn.count_running(n.no, 0),
      fn.refilled(v_now, n.tokens, n.bucket_at, o.per_second, 1000, o.per_second), o
    );
    v_found := v_found || CASE WHEN x.room < 1 THEN x.name END;
  END LOOP;
  RETURN array_to_json(v_found);
END $$;
`;
