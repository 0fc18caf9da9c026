import { BAND_PENALTIES_MS, PRIORITIES } from '../../../../model/task-content.ts';

const PENALTIES = PRIORITIES.map(priority => BAND_PENALTIES_MS[priority]);
const BANDS = `unnest('{${PENALTIES.join(',')}}'::bigint[]) WITH ORDINALITY AS b (penalty, place)`;

const UNEXPIRED = '(expires_at IS NULL OR expires_at > p_now)';
const WAITS = `status IN (0, 2) AND due_at IS NOT NULL AND ${UNEXPIRED}`;

/** Functions that find the tasks that a claim may start, and when the next ones are due. */
export const CANDIDATES = `
-- place: due time plus penalty of the priority.
CREATE TYPE fn.candidate AS (seq bigint, id text, place bigint, grp text);

-- Due tasks without a group, at most p_max of each priority.
CREATE FUNCTION fn.due_tasks(p_now bigint, p_worker int, p_max int) RETURNS fn.candidate[] LANGUAGE plpgsql AS $$
BEGIN
  RETURN ARRAY(
    SELECT ROW(t.seq, t.id, t.due_at + b.penalty, NULL)::fn.candidate FROM ${BANDS} CROSS JOIN LATERAL (
      SELECT seq, id, due_at FROM sluice.task
      WHERE worker = p_worker AND band = b.place - 1 AND grp IS NULL AND due_at <= p_now AND ${WAITS}
      ORDER BY due_at, id LIMIT p_max
    ) AS t
  );
END $$;

CREATE FUNCTION fn.in_order(p_found fn.candidate[], p_max int) RETURNS fn.candidate[] LANGUAGE plpgsql AS $$
BEGIN
  IF cardinality(p_found) < 2 THEN RETURN p_found[:p_max]; END IF;
  RETURN ARRAY(SELECT c FROM unnest(p_found) AS c ORDER BY c.place, c.id LIMIT p_max);
END $$;

-- When the next waiting task without a group is due; null if no task waits.
CREATE FUNCTION fn.next_due(p_now bigint, p_worker int) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  RETURN (
    SELECT min(t.due_at) FROM ${BANDS} CROSS JOIN LATERAL (
      SELECT due_at FROM sluice.task WHERE worker = p_worker AND band = b.place - 1 AND grp IS NULL AND ${WAITS}
      ORDER BY due_at, id LIMIT 1
    ) AS t
  );
END $$;
`;

/** Functions that look into the groups of a worker for one claim. */
export const GROUP_CANDIDATES = `
-- full: the group has due tasks and is at its limit. due_at: when the next task is due; null if no task waits or some are
-- due. look_at: when to read the group again, which is earlier than due_at if the first task expires before it is due.
CREATE TYPE fn.look AS (candidates fn.candidate[], is_full boolean, due_at bigint, look_at bigint);

CREATE FUNCTION fn.look_at_first(p_now bigint, p_worker int, p_group text, p_room int) RETURNS fn.look
LANGUAGE plpgsql AS $$
DECLARE
  t record;
BEGIN
  SELECT seq, due_at, id, band, expires_at INTO t FROM sluice.task
  WHERE worker + 0 = p_worker AND grp = p_group AND ${WAITS} ORDER BY run_at, id LIMIT 1;
  IF NOT FOUND THEN RETURN ROW('{}'::fn.candidate[], false, NULL, NULL)::fn.look; END IF;
  IF t.due_at > p_now THEN
    RETURN ROW('{}'::fn.candidate[], false, t.due_at, least(t.due_at, t.expires_at))::fn.look;
  END IF;
  IF p_room = 0 THEN RETURN ROW('{}'::fn.candidate[], true, NULL, NULL)::fn.look; END IF;
  RETURN ROW(
    ARRAY[ROW(t.seq, t.id, t.due_at + ('{${PENALTIES.join(',')}}'::bigint[])[t.band + 1], p_group)::fn.candidate],
    false, NULL, NULL
  )::fn.look;
END $$;

CREATE FUNCTION fn.look_at_all(p_now bigint, p_worker int, p_group text, p_room int) RETURNS fn.look
LANGUAGE plpgsql AS $$
DECLARE
  v_found fn.candidate[];
  v_next bigint;
BEGIN
  v_found := ARRAY(
    SELECT ROW(t.seq, t.id, t.due_at + b.penalty, p_group)::fn.candidate FROM ${BANDS} CROSS JOIN LATERAL (
      SELECT seq, id, due_at FROM sluice.task
      WHERE worker = p_worker AND grp = p_group AND band = b.place - 1 AND due_at <= p_now AND ${WAITS}
      ORDER BY due_at, id LIMIT greatest(1, p_room)
    ) AS t
  );
  IF cardinality(v_found) > 0 THEN
    IF p_room = 0 THEN RETURN ROW('{}'::fn.candidate[], true, NULL, NULL)::fn.look; END IF;
    RETURN ROW(fn.in_order(v_found, p_room), false, NULL, NULL)::fn.look;
  END IF;
  SELECT min(t.due_at) INTO v_next FROM ${BANDS} CROSS JOIN LATERAL (
    SELECT due_at FROM sluice.task WHERE worker = p_worker AND grp = p_group AND band = b.place - 1 AND ${WAITS}
    ORDER BY due_at, id LIMIT 1
  ) AS t;
  RETURN ROW('{}'::fn.candidate[], false, v_next, v_next)::fn.look;
END $$;

-- p_limit, p_fifo: the rules of groups; null for none. p_max: how many tasks can start at most.
CREATE FUNCTION fn.look_into(
  p_now bigint, p_worker int, p_group text, p_running int, p_limit int, p_fifo boolean, p_max int
) RETURNS fn.look LANGUAGE plpgsql AS $$
DECLARE
  v_room int := least(p_max, CASE WHEN p_limit IS NOT NULL THEN greatest(0, p_limit - p_running) END);
BEGIN
  IF p_fifo THEN RETURN fn.look_at_first(p_now, p_worker, p_group, v_room); END IF;
  RETURN fn.look_at_all(p_now, p_worker, p_group, v_room);
END $$;

CREATE FUNCTION fn.put_off(p_now bigint, p_worker int, p_group text, p_limit int, p_look fn.look) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE sluice.task_group SET
    next_at = CASE WHEN cardinality(p_look.candidates) > 0 THEN p_now ELSE p_look.look_at END,
    "full" = CASE WHEN p_look.is_full THEN p_limit END
  WHERE worker = p_worker AND name = p_group;
  IF NOT p_look.is_full AND p_look.look_at IS NULL AND cardinality(p_look.candidates) = 0 THEN
    PERFORM fn.forget_idle(p_worker, p_group);
  END IF;
END $$;
`;
