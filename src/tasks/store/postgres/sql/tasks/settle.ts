import { EVENT, STATUS } from '../../../codes.ts';
import { KEPT_ENTRIES } from './saving.ts';

/** Maximum number of attempts of a task that are not counted. */
const MAX_DEFERRALS = 100;

const IS_DEFERRAL = `a.event IN (${EVENT.deferred}, ${EVENT.released})`;

/** The functions that end attempts. */
export const SETTLE = `
CREATE TYPE fn.settlement AS (
  lease text, event smallint, delay bigint, last boolean, result text, error text, more text, throttle bigint, actor text
);

-- A settlement, the task whose running attempt has its lease, or else of which the last one had it, and what becomes of
-- both. first: the first settlement with this lease that can end the attempt.
CREATE TYPE fn.judged AS (place int, a fn.settlement, t sluice.task, ends boolean, first_event smallint);

CREATE FUNCTION fn.judge(p_now bigint, p_tenant int, p_settlements fn.settlement[]) RETURNS SETOF fn.judged
LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY
  WITH found AS (
    SELECT a.place, a.a, t.t,
      coalesce((t.t).status = ${STATUS.running} AND ((a.a).event <> ${EVENT.lease_expired} OR (t.t).lease_until <= p_now), false)
        AS can_end
    FROM (
      SELECT i AS place, p_settlements[i] AS a FROM generate_subscripts(p_settlements, 1) AS i
    ) AS a
    LEFT JOIN LATERAL (
      -- Without the sum, an index of tenants might be used.
      SELECT k AS t FROM sluice.task k WHERE k.lease = (a.a).lease AND k.tenant + 0 = p_tenant
      ORDER BY (k.status = ${STATUS.running}) DESC LIMIT 1
    ) AS t ON true
  ), firsts AS (
    SELECT DISTINCT ON ((f.t).seq) (f.t).seq AS seq, f.place, (f.a).event AS event FROM found f WHERE f.can_end
    ORDER BY (f.t).seq, f.place
  )
  SELECT f.place, f.a, f.t, coalesce(f.place = s.place, false), CASE WHEN f.place > s.place THEN s.event END
  FROM found f LEFT JOIN firsts s ON s.seq = (f.t).seq ORDER BY f.place;
END $$;

-- The status of the task after the end of its attempt, the event of the entry, and whether the attempt is not counted.
CREATE FUNCTION fn.outcome(t sluice.task, a fn.settlement, OUT status int, OUT event int, OUT uncounted boolean)
LANGUAGE plpgsql AS $$
BEGIN
  event := a.event;
  uncounted := false;
  IF a.event = ${EVENT.succeeded} THEN
    status := ${STATUS.succeeded};
  ELSIF a.event = ${EVENT.canceled} OR t.cancel_at IS NOT NULL THEN
    status := ${STATUS.canceled};
    event := ${EVENT.canceled};
  ELSIF a.event = ${EVENT.no_retry} THEN
    status := ${STATUS.failed};
  ELSIF ${IS_DEFERRAL} AND t.deferrals < ${MAX_DEFERRALS} THEN
    status := ${STATUS.retry};
    uncounted := true;
  ELSE
    status := CASE WHEN a.last OR t.attempt >= t.max_attempts THEN ${STATUS.failed} ELSE ${STATUS.retry} END;
  END IF;
END $$;

-- Ends attempts. Returns the tasks after it.
CREATE FUNCTION fn.end_attempts(p_now bigint, p_judged fn.judged[]) RETURNS sluice.task[] LANGUAGE plpgsql AS $$
DECLARE
  v_tasks sluice.task[];
  v_are_long boolean;
BEGIN
  WITH outcomes AS (
    SELECT (j.t).seq AS seq, (j.t).attempt AS attempt, j.a, o.* FROM unnest(p_judged) AS j
    CROSS JOIN LATERAL fn.outcome(j.t, j.a) AS o WHERE j.ends
  ), ended AS (
    UPDATE sluice.task AS t SET
      status = o.status, lease_event = (o.a).event, updated_at = p_now, version = version + 1, events = events + 1,
      attempt = t.attempt - o.uncounted::int, held_by = NULL,
      deferrals = deferrals + (o.status <> ${STATUS.canceled} AND (o.a).event IN (${EVENT.deferred}, ${EVENT.released}))::int,
      due_at = CASE WHEN o.status < ${STATUS.succeeded} THEN p_now + (o.a).delay END,
      finished_at = CASE WHEN o.status >= ${STATUS.succeeded} THEN p_now END,
      -- The text of the error is an object: the time comes in front of its closing brace.
      last_error = CASE WHEN o.status <> ${STATUS.succeeded} AND (o.a).error IS NOT NULL
        THEN left((o.a).error, -1) || ',"at":' || p_now || '}' ELSE last_error END
    FROM outcomes o WHERE t.seq = o.seq AND t.status < ${STATUS.succeeded}
    RETURNING t AS task, o.attempt, o.a, o.event
  ), entries AS (
    INSERT INTO sluice.event (seq, n, at, event, came_from, led_to, attempt, actor, lease, next_at, more)
    SELECT (task).seq, (task).events, p_now, event, ${STATUS.running}, (task).status, attempt, (a).actor,
      right((a).lease, 4), (task).due_at, (a).more
    FROM ended
  ), results AS (
    UPDATE sluice.body b SET result = (e.a).result FROM ended e
    WHERE b.seq = (e.task).seq AND (e.task).status = ${STATUS.succeeded} AND (e.a).result IS NOT NULL
  )
  SELECT array_agg(task ORDER BY (task).seq), bool_or((task).events > ${KEPT_ENTRIES}) INTO v_tasks, v_are_long FROM ended;
  IF v_are_long THEN PERFORM fn.drop_entries(v_tasks); END IF;
  RETURN coalesce(v_tasks, '{}');
END $$;

-- What follows from the end of attempts for other tasks, workers and groups.
CREATE FUNCTION fn.follow_ended(p_now bigint, p_tenant int, p_tasks sluice.task[], p_judged fn.judged[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  t sluice.task;
  x record;
  v_workers int[];
  v_statuses int[];
  v_counts int[];
  v_fewer int[];
  v_wakes bigint[];
  v_have_groups boolean;
BEGIN
  FOR x IN
    SELECT (j.t).worker AS no, max((j.a).throttle) AS throttle FROM unnest(p_judged) AS j
    WHERE j.ends AND (j.a).throttle > 0 GROUP BY (j.t).worker ORDER BY (j.t).worker
  LOOP
    UPDATE sluice.worker SET throttled_until = greatest(throttled_until, p_now + x.throttle) WHERE no = x.no;
  END LOOP;
  PERFORM fn.lock_for_end(p_tenant, p_tasks);
  FOR t IN
    SELECT * FROM unnest(p_tasks) AS u WHERE u.status >= ${STATUS.succeeded} AND (
      u.key IS NOT NULL OR u.on_finish IS NOT NULL
      OR EXISTS (
        SELECT FROM sluice.task h
        WHERE h.tenant + 0 = p_tenant AND h.held_by = u.id AND h.status < ${STATUS.succeeded}
      )
    )
  LOOP
    PERFORM fn.end_task(p_now, t, NULL);
  END LOOP;
  SELECT array_agg(c.worker), array_agg(c.status), array_agg(c.n), array_agg(-c.n), array_agg(c.wake_at), bool_or(c.have_groups)
  INTO v_workers, v_statuses, v_counts, v_fewer, v_wakes, v_have_groups FROM (
    SELECT u.worker, u.status, count(*)::int AS n, bool_or(u.grp IS NOT NULL) AS have_groups,
      min(CASE WHEN u.grp IS NULL THEN u.due_at ELSE p_now END) FILTER (WHERE u.wake) AS wake_at
    FROM unnest(p_tasks) AS u GROUP BY u.worker, u.status ORDER BY u.worker, u.status
  ) AS c;
  IF v_workers IS NULL THEN RETURN; END IF;
  IF v_have_groups THEN
    FOR x IN
      SELECT worker, grp, count(*)::int AS n FROM unnest(p_tasks) WHERE grp IS NOT NULL
      GROUP BY worker, grp ORDER BY worker, grp
    LOOP
      PERFORM fn.end_in_group(p_now, x.worker, x.grp, x.n);
    END LOOP;
  END IF;
  PERFORM fn.tally(
    p_tenant, v_workers || v_workers, v_statuses || array_fill(${STATUS.running}, ARRAY[cardinality(v_workers)]), v_counts || v_fewer
  );
  FOR i IN 1..cardinality(v_workers) LOOP
    IF v_wakes[i] IS NOT NULL THEN PERFORM fn.lower_hint(p_tenant, v_workers[i], v_wakes[i]); END IF;
  END LOOP;
END $$;

-- For each settlement: ["settled", task, began at], ["already", task] or ["lost"].
CREATE FUNCTION fn.settle(p_time bigint, p_tenant text, p_settlements json) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_tenant int := (SELECT no FROM sluice.tenant WHERE name = p_tenant);
  v_settlements fn.settlement[] := ARRAY(SELECT s FROM json_populate_recordset(NULL::fn.settlement, p_settlements) AS s);
  v_leases text[] := ARRAY(SELECT s.lease FROM unnest(v_settlements) AS s);
  v_seqs bigint[] := ARRAY(SELECT seq FROM sluice.task WHERE lease = ANY (v_leases) AND tenant + 0 = v_tenant);
  v_now bigint;
  v_judged fn.judged[];
  v_tasks sluice.task[];
BEGIN
  PERFORM 1 FROM sluice.task_key k WHERE (k.worker, k.key) IN (
    SELECT worker, key FROM sluice.task WHERE seq = ANY (v_seqs) AND key IS NOT NULL
  ) ORDER BY k.worker, k.key FOR UPDATE;
  PERFORM 1 FROM sluice.task WHERE seq = ANY (v_seqs || ARRAY(
    SELECT h.seq FROM sluice.task h WHERE h.tenant + 0 = v_tenant AND h.status < ${STATUS.succeeded}
      AND h.held_by = ANY (ARRAY(SELECT id FROM sluice.task WHERE seq = ANY (v_seqs)))
  )) ORDER BY seq FOR UPDATE;
  v_now := fn.time_of(p_time);
  v_judged := ARRAY(SELECT j FROM fn.judge(v_now, v_tenant, v_settlements) AS j);
  v_tasks := fn.end_attempts(v_now, v_judged);
  PERFORM fn.follow_ended(v_now, v_tenant, v_tasks, v_judged);
  RETURN array_to_json(ARRAY(
    SELECT CASE
      WHEN j.ends THEN json_build_array('settled', fn.shown(u), u.began_at)
      WHEN j.first_event = (j.a).event THEN json_build_array('already', fn.shown(u))
      WHEN (j.t).status <> ${STATUS.running} AND (j.t).lease_event = (j.a).event
        THEN json_build_array('already', fn.shown(j.t))
      ELSE '["lost"]'
    END
    FROM unnest(v_judged) AS j LEFT JOIN unnest(v_tasks) AS u ON u.seq = (j.t).seq ORDER BY j.place
  ));
END $$;
`;
