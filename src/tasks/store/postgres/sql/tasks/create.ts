import { OWN_FIELDS } from '../../../../model/task-content.ts';
import { DOCUMENT, EVENT, STATUS } from '../../../codes.ts';
import { LOCK } from '../locks.ts';

const OWN_COLUMNS = OWN_FIELDS.map(name => `${name} text`).join(', ');
const OWN_GIVEN = OWN_FIELDS.map(name => `i.${name}`).join(', ');

/** What a new task changes of the task that it replaces. `run_at` is the first field, which `replace_keep_time` leaves out. */
const REPLACED = [
  'run_at',
  'payload',
  'headers',
  'priority',
  'expires_at',
  'timeout',
  'retry',
  ...OWN_FIELDS,
];

/**
 * Creations of a tenant wait for each other if it has fewer open tasks left than this, so that they do not exceed its limit
 * together. Farther from the limit, they do not wait.
 */
const NEAR_LIMIT = 20_000;

const IS_WORKER = `EXISTS (
      SELECT FROM sluice.doc WHERE tenant = p_tenant AND kind = ${DOCUMENT.worker} AND id = v_id
    )`;

/** Types and functions that insert tasks. */
export const INSERT = `
CREATE TYPE fn.new_task AS (
  id text, worker_id text, worker_name text, band smallint, run_at bigint, run_in bigint, expires_at bigint,
  expires_in bigint, timeout bigint, max_attempts int, retry text, key text, key_ttl bigint, held_by text, grp text,
  on_finish text, schedule text, scheduled_for bigint, created_by text, created_at bigint, wake boolean, ${OWN_COLUMNS},
  conflict text, payload text, headers text
);

-- Inserts tasks with their bodies and first entries. p_nos: the numbers of the workers p_ids. p_held_by: an open task that
-- holds the new ones; null for none.
CREATE FUNCTION fn.insert_tasks(
  p_now bigint, p_tenant int, p_ids text[], p_nos int[], p_items fn.new_task[], p_held_by text
) RETURNS sluice.task[] LANGUAGE plpgsql AS $$
DECLARE
  v_rows sluice.task[];
BEGIN
  WITH items AS MATERIALIZED (
    SELECT nextval('sluice.task_seq') AS seq, p_nos[array_position(p_ids, i.worker_id)] AS worker,
      coalesce(i.run_at, p_now + i.run_in) AS starts_at, i.*
    FROM unnest(p_items) AS i
  ), tasks AS (
    INSERT INTO sluice.task AS t (
      seq, tenant, id, worker, worker_id, worker_name, status, band, attempt, deferrals, events, version, run_at, due_at,
      expires_at, held_by, created_at, created_by, updated_at, key, key_ttl, grp, on_finish, schedule, scheduled_for, wake,
      timeout, max_attempts, retry, ${OWN_FIELDS.join(', ')}
    )
    SELECT i.seq, p_tenant, i.id, i.worker, i.worker_id, i.worker_name, ${STATUS.scheduled}, i.band, 0, 0, 1, 1, i.starts_at,
      CASE WHEN p_held_by IS NULL THEN i.starts_at END, coalesce(i.expires_at, p_now + i.expires_in), p_held_by,
      i.created_at, i.created_by, p_now, i.key, i.key_ttl, i.grp, i.on_finish, i.schedule, i.scheduled_for, i.wake,
      i.timeout, i.max_attempts, i.retry, ${OWN_GIVEN}
    FROM items AS i
    RETURNING t AS task
  ), bodies AS (
    INSERT INTO sluice.body (seq, payload, headers) SELECT seq, payload, headers FROM items
  ), entries AS (
    INSERT INTO sluice.event (seq, n, at, event, led_to, attempt, actor, next_at)
    SELECT seq, 1, p_now, ${EVENT.created}, ${STATUS.scheduled}, 0, created_by, CASE WHEN p_held_by IS NULL THEN starts_at END
    FROM items
  )
  SELECT array_agg(task ORDER BY (task).seq) INTO v_rows FROM tasks;
  RETURN coalesce(v_rows, '{}');
END $$;

-- Counts inserted tasks, and tells of those that can start.
CREATE FUNCTION fn.follow_inserted(p_tenant int, p_rows sluice.task[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_workers int[];
  v_counts int[];
  v_wakes bigint[];
  v_have_groups boolean;
  x record;
BEGIN
  IF cardinality(p_rows) = 0 THEN RETURN; END IF;
  SELECT array_agg(c.worker), array_agg(c.n), array_agg(c.wake_at), bool_or(c.have_groups)
  INTO v_workers, v_counts, v_wakes, v_have_groups FROM (
    SELECT u.worker, count(*)::int AS n, min(u.due_at) FILTER (WHERE u.wake) AS wake_at,
      bool_or(u.grp IS NOT NULL) AS have_groups
    FROM unnest(p_rows) AS u GROUP BY u.worker ORDER BY u.worker
  ) AS c;
  IF v_have_groups THEN
    FOR x IN
      SELECT worker, grp, min(due_at) AS due_at FROM unnest(p_rows) WHERE grp IS NOT NULL AND due_at IS NOT NULL
      GROUP BY worker, grp ORDER BY worker, grp
    LOOP
      PERFORM fn.look_at_group(x.worker, x.grp, x.due_at);
    END LOOP;
  END IF;
  PERFORM fn.tally(p_tenant, v_workers, array_fill(${STATUS.scheduled}, ARRAY[cardinality(v_workers)]), v_counts);
  FOR i IN 1..cardinality(v_workers) LOOP
    IF v_wakes[i] IS NOT NULL THEN PERFORM fn.lower_hint(p_tenant, v_workers[i], v_wakes[i]); END IF;
  END LOOP;
END $$;
`;

/** Functions for the keys of new tasks. */
export const NEW_KEYS = `
-- Adds rows for the keys of new tasks, and locks them, tasks that have them or are to hold new ones (p_holders), and all
-- groups, each in one order. p_new: of new tasks, the worker and the group. Returns the tasks whose groups are locked.
CREATE FUNCTION fn.lock_for_new(p_tenant int, p_workers int[], p_keys text[], p_holders text[], p_new sluice.task[])
RETURNS sluice.task[] LANGUAGE plpgsql AS $$
DECLARE
  v_tasks sluice.task[];
BEGIN
  PERFORM fn.add_keys(p_tenant, p_workers, p_keys);
  v_tasks := ARRAY(
    SELECT t FROM sluice.task t WHERE t.seq = ANY (ARRAY(
      SELECT k.seq FROM sluice.task_key k WHERE (k.worker, k.key) IN (SELECT * FROM unnest(p_workers, p_keys))
    ) || ARRAY(
      SELECT h.seq FROM sluice.task h WHERE h.tenant = p_tenant AND h.id = ANY (p_holders)
    )) ORDER BY t.seq FOR UPDATE
  ) || p_new;
  PERFORM fn.lock_groups_of(v_tasks);
  RETURN v_tasks;
END $$;

-- Gives a waiting task the content of a new one, which is not created.
CREATE FUNCTION fn.replace_task(p_now bigint, b sluice.task, i fn.new_task, p_actor text) RETURNS sluice.task
LANGUAGE plpgsql AS $$
DECLARE
  t sluice.task;
  v_keeps_time boolean := i.conflict = 'replace_keep_time';
  v_given text[] := '{${REPLACED.join(',')}}';
  v_patch fn.patch;
  x record;
  v_entry fn.entry;
BEGIN
  IF v_keeps_time THEN v_given := v_given[2:]; END IF;
  v_patch := ROW(
    v_given, i.band, i.run_at, i.run_in, i.expires_at, i.expires_in, i.timeout, i.max_attempts, i.retry, i.payload,
    i.headers, ${OWN_GIVEN}
  );
  SELECT * INTO x FROM fn.edit(p_now, b, v_patch, false);
  t := x.t;
  PERFORM fn.edit_body(t.seq, v_patch, x.changed);
  t.wake := i.wake;
  IF NOT v_keeps_time AND t.held_by IS NULL THEN t.due_at := t.run_at; END IF;
  IF cardinality(x.changed) > 0 THEN
    v_entry := ROW(${EVENT.updated}, p_actor, NULL, NULL, fn.changed_text(x.changed));
  END IF;
  RETURN fn.save_task(p_now, b, t, v_entry);
END $$;

-- What becomes of a new task whose key another one has: its result, or null if it is created. p_beside: the task that holds
-- it then; null for none.
CREATE FUNCTION fn.meet_holder(
  p_now bigint, p_worker int, i fn.new_task, p_actor text, OUT result json, OUT beside text
) LANGUAGE plpgsql AS $$
DECLARE
  v_seq bigint;
  v_free_at bigint;
  h sluice.task;
BEGIN
  SELECT seq, free_at INTO v_seq, v_free_at FROM sluice.task_key WHERE worker = p_worker AND key = i.key;
  IF v_free_at <= p_now THEN RETURN; END IF;
  SELECT * INTO h FROM sluice.task WHERE seq = v_seq;
  IF i.conflict = 'return' THEN
    result := json_build_array('existing', fn.shown(h), v_free_at);
  ELSIF i.conflict = 'reject' THEN
    result := json_build_array('refused', 'task_key_exists', h.id);
  ELSIF h.status < ${STATUS.succeeded} AND h.started_at IS NULL THEN
    result := json_build_array('replaced', fn.shown(fn.replace_task(p_now, h, i, p_actor)));
  ELSIF h.status < ${STATUS.succeeded} THEN
    beside := h.id;
  END IF;
END $$;
`;

/** Functions that create the tasks of a request. */
export const CREATE = `
-- The numbers of workers with a document; null for others. Their documents stay until this transaction ends.
CREATE FUNCTION fn.workers_of(p_tenant int, p_ids text[]) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
  v_id text;
  v_nos int[] := '{}';
BEGIN
  FOREACH v_id IN ARRAY p_ids LOOP
    PERFORM pg_advisory_xact_lock_shared(${LOCK.worker}, hashtext(v_id));
    v_nos := v_nos || CASE WHEN ${IS_WORKER} THEN fn.add_worker(p_tenant, v_id) END;
  END LOOP;
  RETURN v_nos;
END $$;

-- The number of open tasks. p_new: how many are to be created. If that is near the maximum, others wait.
CREATE FUNCTION fn.open_tasks(p_tenant int, p_new int, p_max int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  v_open int := fn.count_open(p_tenant, 0);
BEGIN
  IF p_new = 0 OR v_open + p_new <= p_max - ${NEAR_LIMIT} THEN RETURN v_open; END IF;
  PERFORM pg_advisory_xact_lock(${LOCK.quota}, p_tenant);
  RETURN fn.count_open(p_tenant, 0);
END $$;

-- The result for a created task. p_whole: the task itself, for a result that is stored.
CREATE FUNCTION fn.made(r sluice.task, p_whole boolean) RETURNS json LANGUAGE sql AS $$
  SELECT CASE WHEN p_whole THEN json_build_array('created', fn.shown(r))
    ELSE json_build_array('made', r.updated_at, r.held_by) END
$$;

CREATE FUNCTION fn.make_tasks(
  p_time bigint, p_tenant int, p_max_open int, p_actor text, p_items fn.new_task[], p_whole boolean,
  OUT results json[], OUT refused boolean
) LANGUAGE plpgsql AS $$
DECLARE
  v_ids text[];
  v_nos int[];
  v_open int;
  v_depend boolean;
  v_rows sluice.task[];
BEGIN
  SELECT coalesce(array_agg(DISTINCT worker_id ORDER BY worker_id), '{}'), bool_or(key IS NOT NULL OR held_by IS NOT NULL)
  INTO v_ids, v_depend FROM unnest(p_items);
  v_nos := fn.workers_of(p_tenant, v_ids);
  v_open := fn.open_tasks(p_tenant, cardinality(p_items), p_max_open);
  IF v_depend OR array_position(v_nos, NULL) IS NOT NULL OR v_open + cardinality(p_items) > p_max_open THEN
    SELECT m.results, m.refused INTO results, refused
    FROM fn.make_in_order(p_time, p_tenant, p_max_open - v_open, p_actor, v_ids, v_nos, p_items, p_whole) AS m;
    RETURN;
  END IF;
  v_rows := fn.insert_tasks(fn.time_of(p_time), p_tenant, v_ids, v_nos, p_items, NULL);
  PERFORM fn.follow_inserted(p_tenant, v_rows);
  results := ARRAY(SELECT fn.made(r, p_whole) FROM unnest(v_rows) AS r);
  refused := false;
END $$;

-- Creates tasks one after the other. p_room: how many can be created.
CREATE FUNCTION fn.make_in_order(
  p_time bigint, p_tenant int, p_room int, p_actor text, p_ids text[], p_nos int[], p_items fn.new_task[], p_whole boolean,
  OUT results json[], OUT refused boolean
) LANGUAGE plpgsql AS $$
DECLARE
  i fn.new_task;
  v_workers int[] := ARRAY(SELECT p_nos[array_position(p_ids, worker_id)] FROM unnest(p_items));
  v_keys text[] := ARRAY(SELECT key FROM unnest(p_items));
  v_worker int;
  v_now bigint;
  v_result json;
  v_beside text;
  r sluice.task;
  v_locked sluice.task[] := '{}';
  v_rows sluice.task[] := '{}';
BEGIN
  results := '{}';
  refused := false;
  FOR v_at IN 1..cardinality(p_items) LOOP
    r.worker := v_workers[v_at];
    r.grp := p_items[v_at].grp;
    v_locked := v_locked || r;
  END LOOP;
  v_locked := fn.lock_for_new(p_tenant, v_workers, v_keys, ARRAY(SELECT held_by FROM unnest(p_items)), v_locked);
  v_now := fn.time_of(p_time);
  FOREACH i IN ARRAY p_items LOOP
    v_worker := v_workers[cardinality(results) + 1];
    v_result := NULL;
    v_beside := NULL;
    IF v_worker IS NULL THEN
      v_result := '["refused","worker_missing"]';
    ELSIF i.key IS NOT NULL THEN
      SELECT m.result, m.beside INTO v_result, v_beside FROM fn.meet_holder(v_now, v_worker, i, p_actor) AS m;
    END IF;
    IF v_result IS NULL AND cardinality(v_rows) >= p_room THEN v_result := '["refused","quota_exceeded"]'; END IF;
    IF v_result IS NOT NULL THEN
      refused := refused OR v_result ->> 0 = 'refused';
      results := results || v_result;
      CONTINUE;
    END IF;
    IF v_beside IS NULL AND i.held_by IS NOT NULL THEN
      SELECT id INTO v_beside FROM sluice.task
      WHERE tenant = p_tenant AND id = i.held_by AND status + 0 < ${STATUS.succeeded};
    END IF;
    r := (fn.insert_tasks(v_now, p_tenant, p_ids, p_nos, ARRAY[i], v_beside))[1];
    IF i.key IS NOT NULL THEN
      UPDATE sluice.task_key SET seq = r.seq, free_at = NULL WHERE worker = v_worker AND key = i.key;
    END IF;
    v_rows := v_rows || r;
    results := results || fn.made(r, p_whole);
  END LOOP;
  PERFORM fn.drop_free_keys(v_workers, v_keys);
  PERFORM fn.follow_inserted(p_tenant, v_rows);
  PERFORM fn.forget_groups_of(v_locked);
END $$;
`;

/** The function that answers a request to create tasks. */
export const CREATE_REQUEST = `
CREATE TYPE fn.create_request AS (
  "atomic" boolean, max_open int, actor text, documents json, scope text, key text, fingerprint text, keep bigint, note text
);

-- Changes documents and creates tasks. If a part is refused, nothing is done.
CREATE FUNCTION fn.make_all_or_nothing(
  p_now bigint, p_tenant int, q fn.create_request, p_items fn.new_task[],
  OUT results json[], OUT refused_index int, OUT refused_reason text
) LANGUAGE plpgsql AS $$
DECLARE
  v_refused boolean;
BEGIN
  IF q.documents IS NOT NULL THEN
    SELECT a.index, a.reason INTO refused_index, refused_reason FROM fn.apply_changes(p_tenant, q.documents) AS a;
    IF refused_reason IS NOT NULL THEN RAISE SQLSTATE 'SLUIC'; END IF;
  END IF;
  SELECT m.results, m.refused INTO results, v_refused
  FROM fn.make_tasks(p_now, p_tenant, q.max_open, q.actor, p_items, q.key IS NOT NULL) AS m;
  IF q."atomic" AND v_refused THEN RAISE SQLSTATE 'SLUIC'; END IF;
EXCEPTION WHEN SQLSTATE 'SLUIC' THEN
  results := ARRAY(
    SELECT CASE WHEN u ->> 0 = 'refused' THEN u ELSE '["refused","not_created"]' END FROM unnest(results) AS u
  );
END $$;

-- Creates tasks that are independent of each other, with the results in their order.
CREATE FUNCTION fn.create_several(p_now bigint, p_tenant text, p_max_open int, p_actor text, p_tasks json) RETURNS json
LANGUAGE plpgsql AS $$
BEGIN
  RETURN array_to_json((fn.make_tasks(
    p_now, (SELECT no FROM sluice.tenant WHERE name = p_tenant), p_max_open, p_actor,
    ARRAY(SELECT i FROM json_populate_recordset(NULL::fn.new_task, p_tasks) AS i), false
  )).results);
END $$;

-- ["done", results] · ["replayed", results, note] · ["reused"] · ["documents", index, reason]
CREATE FUNCTION fn.create_tasks(p_now bigint, p_tenant text, p_request json, p_tasks json) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
  q fn.create_request := json_populate_record(NULL::fn.create_request, p_request);
  v_items fn.new_task[] := ARRAY(SELECT i FROM json_populate_recordset(NULL::fn.new_task, p_tasks) AS i);
  v_tenant int;
  v_known json;
  x record;
BEGIN
  IF q.key IS NOT NULL THEN
    v_known := fn.recalled(p_now, p_tenant, q.scope, q.key, q.fingerprint, true);
    IF v_known IS NOT NULL THEN RETURN v_known; END IF;
  END IF;
  IF q.documents IS NULL THEN
    SELECT no INTO v_tenant FROM sluice.tenant WHERE name = p_tenant;
  ELSE
    v_tenant := fn.add_tenant(p_tenant);
  END IF;
  IF q.documents IS NOT NULL OR (q."atomic" AND cardinality(v_items) > 1) THEN
    SELECT * INTO x FROM fn.make_all_or_nothing(p_now, v_tenant, q, v_items);
    IF x.refused_reason IS NOT NULL THEN
      RETURN json_build_array('documents', x.refused_index, x.refused_reason);
    END IF;
  ELSE
    SELECT m.results INTO x FROM fn.make_tasks(p_now, v_tenant, q.max_open, q.actor, v_items, q.key IS NOT NULL) AS m;
  END IF;
  IF q.key IS NOT NULL AND EXISTS (SELECT FROM unnest(x.results) AS u WHERE u ->> 0 <> 'refused') THEN
    PERFORM fn.write_record(
      p_now, v_tenant, q.scope, q.key, q.fingerprint, q.keep, q.note, array_to_json(x.results)::text
    );
  END IF;
  RETURN json_build_array('done', x.results);
END $$;
`;
