/** Maximum number of groups that one claim reads for tasks to start. */
const MAX_GROUPS = 32;
/** Maximum number of groups that one claim reads for the next due time, or to find a full one. */
const MAX_CHECKED = 8;

/** Functions that walk over the groups of a worker, whose row the claim has locked. */
export const GROUP_LINES = `
-- The groups that a claim may change.
CREATE FUNCTION fn.next_groups(p_worker int, p_limit int) RETURNS text[] LANGUAGE plpgsql AS $$
BEGIN
  RETURN ARRAY(
    SELECT name FROM sluice.task_group WHERE worker = p_worker AND next_at IS NOT NULL
    ORDER BY next_at, name LIMIT ${MAX_GROUPS + MAX_CHECKED}
  ) || ARRAY(
    SELECT name FROM sluice.task_group WHERE worker = p_worker AND "full" IS NOT NULL
    ORDER BY "full", name LIMIT ${MAX_CHECKED}
  ) || ARRAY(
    SELECT name FROM sluice.task_group
    WHERE worker = p_worker AND "full" IS NOT NULL AND "full" <> coalesce(p_limit, 0) ORDER BY "full", name
  );
END $$;

-- Locks these groups, in one order, and returns their names. The claim changes no others: their tasks may have been created
-- a moment ago. No limit is stored as 0, at which no group can be full.
CREATE FUNCTION fn.lock_groups(p_now bigint, p_worker int, p_limit int) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
  v_names text[] := fn.next_groups(p_worker, p_limit);
BEGIN
  IF cardinality(v_names) = 0 THEN RETURN v_names; END IF;
  PERFORM 1 FROM sluice.task_group WHERE worker = p_worker AND name = ANY (v_names) ORDER BY name FOR UPDATE;
  UPDATE sluice.task_group SET next_at = p_now, "full" = NULL
  WHERE worker = p_worker AND name = ANY (v_names) AND "full" IS NOT NULL AND "full" <> coalesce(p_limit, 0);
  RETURN v_names;
END $$;

-- Due tasks that their groups allow to start, in no particular order.
CREATE FUNCTION fn.group_candidates(
  p_now bigint, p_worker int, p_names text[], p_limit int, p_fifo boolean, p_max int
) RETURNS fn.candidate[] LANGUAGE plpgsql AS $$
DECLARE
  g record;
  v_look fn.look;
  v_found fn.candidate[] := '{}';
BEGIN
  FOR g IN
    SELECT name, running FROM sluice.task_group WHERE worker = p_worker AND next_at <= p_now AND name = ANY (p_names)
    ORDER BY next_at, name LIMIT ${MAX_GROUPS}
  LOOP
    v_look := fn.look_into(p_now, p_worker, g.name, g.running, p_limit, p_fifo, p_max);
    IF cardinality(v_look.candidates) = 0 THEN PERFORM fn.put_off(p_now, p_worker, g.name, p_limit, v_look); END IF;
    v_found := v_found || v_look.candidates;
  END LOOP;
  RETURN v_found;
END $$;

-- Counts the started tasks of groups, which move to the end of the line.
CREATE FUNCTION fn.groups_served(
  p_now bigint, p_worker int, p_limit int, p_fifo boolean, p_max int, p_groups text[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  g record;
  v_running int;
BEGIN
  FOR g IN SELECT u.name, count(*)::int AS n FROM unnest(p_groups) AS u (name) WHERE u.name IS NOT NULL GROUP BY 1 ORDER BY 1
  LOOP
    UPDATE sluice.task_group SET running = running + g.n WHERE worker = p_worker AND name = g.name
    RETURNING running INTO v_running;
    PERFORM fn.put_off(
      p_now, p_worker, g.name, p_limit, fn.look_into(p_now, p_worker, g.name, v_running, p_limit, p_fifo, p_max)
    );
  END LOOP;
END $$;

-- Checks groups that are marked as full, because their due tasks may have changed or expired.
CREATE FUNCTION fn.some_group_is_full(
  p_now bigint, p_worker int, p_names text[], p_limit int, p_fifo boolean, p_max int
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  g record;
  v_look fn.look;
  v_checked int := 0;
BEGIN
  FOR g IN
    SELECT name, running FROM sluice.task_group
    WHERE worker = p_worker AND "full" IS NOT NULL AND name = ANY (p_names)
    ORDER BY "full", name LIMIT ${MAX_CHECKED}
  LOOP
    v_look := fn.look_into(p_now, p_worker, g.name, g.running, p_limit, p_fifo, p_max);
    IF v_look.is_full THEN RETURN true; END IF;
    PERFORM fn.put_off(p_now, p_worker, g.name, p_limit, v_look);
    v_checked := v_checked + 1;
  END LOOP;
  RETURN v_checked = ${MAX_CHECKED};
END $$;

-- When the next group has a task to start, and whether some group is full.
CREATE FUNCTION fn.next_group(
  p_now bigint, p_worker int, p_names text[], p_limit int, p_fifo boolean, p_max int, OUT at bigint, OUT is_full boolean
) LANGUAGE plpgsql AS $$
DECLARE
  g record;
  v_look fn.look;
  v_checked int := 0;
BEGIN
  is_full := fn.some_group_is_full(p_now, p_worker, p_names, p_limit, p_fifo, p_max);
  FOR g IN
    SELECT name, running, next_at FROM sluice.task_group
    WHERE worker = p_worker AND next_at IS NOT NULL AND name = ANY (p_names)
    ORDER BY next_at, name LIMIT ${MAX_CHECKED}
  LOOP
    IF g.next_at >= at THEN RETURN; END IF;
    v_checked := v_checked + 1;
    IF v_checked = ${MAX_CHECKED} OR g.next_at <= p_now THEN
      at := greatest(g.next_at, p_now);
      RETURN;
    END IF;
    v_look := fn.look_into(p_now, p_worker, g.name, g.running, p_limit, p_fifo, p_max);
    PERFORM fn.put_off(p_now, p_worker, g.name, p_limit, v_look);
    at := least(at, v_look.due_at);
  END LOOP;
END $$;
`;
