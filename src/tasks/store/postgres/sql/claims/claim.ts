import { EVENT, STATUS } from '../../../codes.ts';
import { READ_BYTES } from '../../../task-store.ts';
import { KEPT_ENTRIES } from '../tasks/saving.ts';

/** Delay until the next claim if attempts must end first. */
const ROOM_WAIT_MS = 1_000;

/** Stands for no bound. */
const UNBOUNDED = 2_147_483_647;

/** Functions for the bounds of claims. */
export const BOUNDS = `
-- The tokens of a bucket now. A bucket is full at first. If the clock was set back, no tokens are removed.
CREATE FUNCTION fn.refilled(
  p_now bigint, p_tokens float8, p_at bigint, p_limit float8, p_per float8, p_burst float8
) RETURNS float8 LANGUAGE sql AS
$$ SELECT least(p_burst, coalesce(p_tokens + greatest(0, p_now - p_at) * p_limit / p_per, p_burst)) $$;

-- When the bucket has a whole token.
CREATE FUNCTION fn.next_token(p_now bigint, p_tokens float8, p_limit float8, p_per float8) RETURNS bigint LANGUAGE sql AS
$$ SELECT p_now + greatest(1, ceil((1 - p_tokens) * p_per / p_limit))::bigint $$;

CREATE TYPE fn.bounds AS (
  concurrency int, rate_limit float8, rate_per float8, rate_burst float8, in_flight int, per_second float8
);

-- The bound with the least room; the first one of several. p_tokens: of the worker. p_tenant_tokens: of the tenant.
CREATE FUNCTION fn.tightest(
  p_now bigint, p_throttled_until bigint, p_running int, p_tokens float8, p_tenant_running int, p_tenant_tokens float8,
  q fn.bounds, OUT name text, OUT room int
) LANGUAGE plpgsql AS $$
DECLARE
  v_names text[] := '{throttled,concurrency,rate,tenant_in_flight,tenant_rate}';
  v_rooms int[] := ARRAY[
    CASE WHEN p_throttled_until > p_now THEN 0 ELSE ${UNBOUNDED} END,
    CASE WHEN q.concurrency IS NULL THEN ${UNBOUNDED} ELSE greatest(0, q.concurrency - p_running) END,
    CASE WHEN q.rate_limit IS NULL THEN ${UNBOUNDED} ELSE floor(p_tokens) END,
    greatest(0, q.in_flight - p_tenant_running),
    floor(p_tenant_tokens)
  ];
BEGIN
  room := ${UNBOUNDED};
  FOR i IN 1..5 LOOP
    IF v_rooms[i] < room THEN
      room := v_rooms[i];
      name := v_names[i];
    END IF;
  END LOOP;
  name := coalesce(name, v_names[1]);
END $$;
`;

/** The function that starts tasks. */
export const START = `
CREATE TYPE fn.started AS (task sluice.task, was smallint, was_due bigint, payload text, headers text, result text);

-- Starts tasks, in order, until their bodies reach the size that one call may read. A task that another transaction changes
-- at the moment does not start.
CREATE FUNCTION fn.start_tasks(
  p_now bigint, p_seqs bigint[], p_leases text[], p_push boolean, p_ms bigint, p_actor text
) RETURNS fn.started[] LANGUAGE plpgsql AS $$
DECLARE
  v_started fn.started[];
  v_are_long boolean;
BEGIN
  WITH locked AS (
    SELECT t.seq, t.status, t.due_at FROM sluice.task t
    WHERE t.seq = ANY (p_seqs) AND t.status < ${STATUS.succeeded} AND t.status + 0 IN (${STATUS.scheduled}, ${STATUS.retry}) AND t.due_at + 0 <= p_now
      AND (t.expires_at IS NULL OR t.expires_at + 0 > p_now)
    FOR UPDATE SKIP LOCKED
  ), sized AS (
    SELECT l.*, b.payload, b.headers, b.result, row_number() OVER turns AS place,
      coalesce(sum(coalesce(octet_length(b.payload), 0) + coalesce(octet_length(b.result), 0)) OVER (
        ORDER BY array_position(p_seqs, l.seq) ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
      ), 0) AS before
    FROM locked l JOIN sluice.body b ON b.seq = l.seq WINDOW turns AS (ORDER BY array_position(p_seqs, l.seq))
  ), started AS (
    UPDATE sluice.task AS t SET
      status = ${STATUS.running}, attempt = attempt + 1, due_at = NULL, started_at = coalesce(started_at, p_now),
      began_at = p_now, lease = p_leases[s.place], lease_event = NULL, wake = p_push, events = events + 1,
      version = version + 1, updated_at = p_now, lease_cap = p_now + timeout + CASE WHEN p_push THEN p_ms ELSE 0 END,
      lease_until = p_now + CASE WHEN p_push THEN timeout + p_ms ELSE least(p_ms, timeout) END
    FROM sized s WHERE t.seq = s.seq AND t.status < ${STATUS.succeeded} AND s.before < ${READ_BYTES}
    RETURNING t AS task, s.status AS was, s.due_at AS was_due, s.payload, s.headers, s.result, s.place
  ), entries AS (
    INSERT INTO sluice.event (seq, n, at, event, came_from, led_to, attempt, actor, lease)
    SELECT (task).seq, (task).events, p_now, ${EVENT.started}, was, (task).status, (task).attempt, p_actor,
      right((task).lease, 4)
    FROM started
  )
  SELECT array_agg(ROW(task, was, was_due, payload, headers, result)::fn.started ORDER BY place),
    bool_or((task).events > ${KEPT_ENTRIES})
  INTO v_started, v_are_long FROM started;
  IF v_are_long THEN PERFORM fn.drop_entries(ARRAY(SELECT u.task FROM unnest(v_started) AS u)); END IF;
  RETURN coalesce(v_started, '{}');
END $$;
`;

/** The function that answers a claim. */
export const CLAIM = `
CREATE TYPE fn.claim_request AS (bounds fn.bounds, push boolean, ms bigint, group_limit int, fifo boolean, actor text);

-- [now, next at, blocked, [task, payload, headers, result, lease, lease until, due at]…]
CREATE FUNCTION fn.claim(p_time bigint, p_tenant text, p_worker text, p_leases text[], p_request json) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
  q fn.claim_request := json_populate_record(NULL::fn.claim_request, p_request);
  o fn.bounds := q.bounds;
  w sluice.worker;
  n sluice.tenant;
  v_now bigint;
  v_max int := cardinality(p_leases);
  v_groups text[];
  v_due fn.candidate[];
  v_count int;
  v_running int;
  v_tenant_running int;
  v_room int;
  v_tightest record;
  v_started fn.started[] := '{}';
  v_retries int;
  v_blocked text;
  v_is_cut boolean := false;
  v_next_at bigint;
  v_group record;
BEGIN
  SELECT k.* INTO w FROM sluice.worker k JOIN sluice.tenant t ON t.no = k.tenant WHERE t.name = p_tenant AND k.id = p_worker
  FOR NO KEY UPDATE OF k;
  v_now := fn.time_of(p_time);
  IF NOT FOUND THEN RETURN json_build_array(v_now, NULL, NULL, '[]'::json); END IF;
  PERFORM fn.remove_hints(w.no);
  v_due := fn.due_tasks(v_now, w.no, v_max + 1);
  v_groups := fn.lock_groups(v_now, w.no, q.group_limit);
  IF cardinality(v_groups) > 0 THEN
    v_due := v_due || fn.group_candidates(v_now, w.no, v_groups, q.group_limit, q.fifo, v_max + 1);
  END IF;
  v_due := fn.in_order(v_due, v_max + 1);
  v_count := least(v_max, cardinality(v_due));
  IF cardinality(v_due) > 0 THEN
    SELECT * INTO n FROM sluice.tenant WHERE no = w.tenant FOR NO KEY UPDATE;
    v_running := fn.count_running(w.tenant, w.no);
    v_tenant_running := fn.count_running(w.tenant, 0);
    -- Attempts that are not counted any more have ended before this time.
    v_now := fn.time_of(p_time);
    IF o.rate_limit IS NOT NULL THEN
      w.tokens := fn.refilled(v_now, w.tokens, w.bucket_at, o.rate_limit, o.rate_per, o.rate_burst);
    END IF;
    n.tokens := fn.refilled(v_now, n.tokens, n.bucket_at, o.per_second, 1000, o.per_second);
    v_tightest := fn.tightest(v_now, w.throttled_until, v_running, w.tokens, v_tenant_running, n.tokens, o);
    v_room := least(v_tightest.room, v_count);
    IF v_room > 0 THEN
      v_started := fn.start_tasks(
        v_now, ARRAY(SELECT u.seq FROM unnest(v_due[:v_room]) WITH ORDINALITY AS u ORDER BY u.ordinality), p_leases, q.push,
        q.ms, q.actor
      );
    END IF;
    v_is_cut := cardinality(v_started) < v_room;
    -- A claim without leases is blocked by what would block a claim of one task.
    IF v_tightest.room < greatest(1, v_count) AND NOT v_is_cut THEN v_blocked := v_tightest.name; END IF;
    IF o.rate_limit IS NOT NULL THEN
      w.tokens := w.tokens - cardinality(v_started);
      UPDATE sluice.worker SET tokens = w.tokens, bucket_at = v_now WHERE no = w.no;
    END IF;
    n.tokens := n.tokens - cardinality(v_started);
    UPDATE sluice.tenant SET tokens = n.tokens, bucket_at = v_now WHERE no = n.no;
    IF cardinality(v_groups) > 0 THEN
      PERFORM fn.groups_served(
        v_now, w.no, q.group_limit, q.fifo, v_max + 1, ARRAY(SELECT (u.task).grp FROM unnest(v_started) AS u)
      );
    END IF;
  END IF;
  v_next_at := v_now;
  IF v_blocked IS NOT NULL THEN
    v_next_at := CASE v_blocked
      WHEN 'throttled' THEN w.throttled_until
      WHEN 'rate' THEN fn.next_token(v_now, w.tokens, o.rate_limit, o.rate_per)
      WHEN 'tenant_rate' THEN fn.next_token(v_now, n.tokens, o.per_second, 1000)
      ELSE v_now + ${ROOM_WAIT_MS}
    END;
  ELSIF NOT v_is_cut AND cardinality(v_due) <= v_count THEN
    v_next_at := fn.next_due(v_now, w.no);
    IF cardinality(v_groups) > 0 THEN
      SELECT * INTO v_group FROM fn.next_group(v_now, w.no, v_groups, q.group_limit, q.fifo, v_max + 1);
      v_next_at := least(v_next_at, v_group.at);
      IF v_group.is_full AND coalesce(v_next_at > v_now, true) THEN
        v_blocked := 'group';
        v_next_at := least(v_next_at, v_now + ${ROOM_WAIT_MS});
      END IF;
    END IF;
  END IF;
  IF cardinality(v_started) > 0 THEN
    v_retries := (SELECT count(*) FROM unnest(v_started) AS u WHERE u.was = ${STATUS.retry});
    PERFORM fn.tally(
      w.tenant, ARRAY[w.no, w.no, w.no], ARRAY[${STATUS.scheduled}, ${STATUS.retry}, ${STATUS.running}],
      ARRAY[v_retries - cardinality(v_started), -v_retries, cardinality(v_started)]
    );
  END IF;
  PERFORM fn.add_hint(w.tenant, w.no, CASE WHEN q.push THEN v_next_at END);
  RETURN json_build_array(v_now, v_next_at, v_blocked, ARRAY(
    SELECT json_build_array(
      fn.shown(u.task), u.payload, u.headers, u.result, (u.task).lease, (u.task).lease_until, u.was_due
    ) FROM unnest(v_started) AS u
  ));
END $$;
`;
