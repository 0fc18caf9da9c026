import { DOCUMENT, EVENT, STATUS } from '../../../codes.ts';
import { LOCK } from '../locks.ts';

const WAITS = `t.status IN (${STATUS.scheduled}, ${STATUS.retry})`;

/** Functions that change or remove one task on behalf of a caller. */
export const CHANGE = `
-- Locks a task, after its key. p_takes_key: adds the row of the key if it does not exist.
CREATE FUNCTION fn.lock_task(p_tenant text, p_id text, p_takes_key boolean) RETURNS sluice.task LANGUAGE plpgsql AS $$
DECLARE
  f sluice.task;
  t sluice.task;
BEGIN
  SELECT k.* INTO f FROM sluice.task k JOIN sluice.tenant n ON n.no = k.tenant WHERE n.name = p_tenant AND k.id = p_id;
  IF NOT FOUND THEN RETURN NULL; END IF;
  IF p_takes_key THEN
    -- Its document stays until this transaction ends.
    PERFORM pg_advisory_xact_lock_shared(${LOCK.worker}, hashtext(f.worker_id));
    PERFORM fn.add_keys(f.tenant, ARRAY[f.worker], ARRAY[f.key]);
  ELSE
    PERFORM fn.lock_key(f.worker, f.key);
  END IF;
  SELECT * INTO t FROM sluice.task WHERE seq = f.seq FOR UPDATE;
  IF NOT FOUND AND p_takes_key THEN PERFORM fn.drop_free_keys(ARRAY[f.worker], ARRAY[f.key]); END IF;
  RETURN t;
END $$;

-- The task after an action, and the entry for it; or a verdict if it is not done. p_patch is what the caller gives.
CREATE FUNCTION fn.act(
  p_now bigint, p_action text, p_actor text, p_patch fn.patch, INOUT t sluice.task, OUT entry fn.entry, OUT verdict text
) LANGUAGE plpgsql AS $$
DECLARE
  v_runs boolean := t.status = ${STATUS.running};
  x record;
BEGIN
  CASE p_action
  WHEN 'update' THEN
    IF t.status >= ${STATUS.succeeded} THEN verdict := 'status'; RETURN; END IF;
    SELECT * INTO x FROM fn.edit(p_now, t, p_patch, v_runs);
    IF v_runs AND NOT x.changed <@ '{retry,tags,metadata}' THEN verdict := 'status'; RETURN; END IF;
    IF cardinality(x.changed) = 0 THEN verdict := 'unchanged'; RETURN; END IF;
    t := x.t;
    PERFORM fn.edit_body(t.seq, p_patch, x.changed);
    IF 'run_at' = ANY (x.changed) AND t.held_by IS NULL THEN t.due_at := t.run_at; END IF;
    entry := ROW(${EVENT.updated}, p_actor, NULL, NULL, fn.changed_text(x.changed));
  WHEN 'pause' THEN
    IF t.status = ${STATUS.paused} THEN verdict := 'unchanged'; RETURN; END IF;
    IF NOT ${WAITS} THEN verdict := 'status'; RETURN; END IF;
    t.status := ${STATUS.paused};
    entry := ROW(${EVENT.paused}, p_actor, NULL, NULL, NULL);
  WHEN 'resume' THEN
    IF ${WAITS} THEN verdict := 'unchanged'; RETURN; END IF;
    IF t.status <> ${STATUS.paused} THEN verdict := 'status'; RETURN; END IF;
    t.status := CASE WHEN t.started_at IS NULL THEN ${STATUS.scheduled} ELSE ${STATUS.retry} END;
    entry := ROW(${EVENT.resumed}, p_actor, NULL, NULL, NULL);
  WHEN 'cancel' THEN
    IF t.status = ${STATUS.canceled} OR (v_runs AND t.cancel_at IS NOT NULL) THEN verdict := 'unchanged'; RETURN; END IF;
    IF t.status >= ${STATUS.succeeded} THEN verdict := 'status'; RETURN; END IF;
    IF v_runs THEN
      t.cancel_at := p_now;
      entry := ROW(${EVENT.cancel_requested}, p_actor, NULL, NULL, NULL);
    ELSE
      t.status := ${STATUS.canceled};
      entry := ROW(${EVENT.canceled}, p_actor, NULL, NULL, NULL);
    END IF;
  WHEN 'replay' THEN
    IF t.status < ${STATUS.succeeded} OR NOT EXISTS (
      SELECT FROM sluice.doc WHERE tenant = t.tenant AND kind = ${DOCUMENT.worker} AND id = t.worker_id
    ) THEN verdict := 'status'; RETURN; END IF;
    IF NOT fn.take_key_again(p_now, t) THEN verdict := 'key_taken'; RETURN; END IF;
    UPDATE sluice.body SET result = NULL WHERE seq = t.seq AND result IS NOT NULL;
    SELECT * INTO x FROM fn.edit(p_now, t, p_patch, false);
    t := x.t;
    PERFORM fn.edit_body(t.seq, p_patch, x.changed);
    t.status := ${STATUS.scheduled};
    t.due_at := CASE WHEN 'run_at' = ANY (p_patch.given) THEN t.run_at ELSE p_now END;
    IF t.expires_at <= p_now THEN t.expires_at := NULL; END IF;
    t.attempt := 0;
    t.deferrals := 0;
    t.cancel_at := NULL;
    t.started_at := NULL;
    t.finished_at := NULL;
    t.lease := NULL;
    t.lease_event := NULL;
    entry := ROW(${EVENT.replayed}, p_actor, NULL, NULL, fn.changed_text(x.changed));
  WHEN 'run' THEN
    IF NOT ${WAITS} OR t.held_by IS NOT NULL THEN verdict := 'status'; RETURN; END IF;
    t.due_at := p_now;
    entry := ROW(${EVENT.updated}, p_actor, NULL, NULL, '{"changed":["run_at"]}');
  WHEN 'expire' THEN
    IF NOT ${WAITS} OR coalesce(t.expires_at > p_now, true) THEN verdict := 'status'; RETURN; END IF;
    t.status := ${STATUS.expired};
    entry := ROW(${EVENT.expired}, p_actor, NULL, NULL, NULL);
  END CASE;
END $$;

-- [kind, task]: done, or what fn.act says, or ["version", task]. b: the task, which is locked.
CREATE FUNCTION fn.change_locked(
  p_now bigint, b sluice.task, p_action text, p_patch json, p_version int, p_actor text
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  x record;
BEGIN
  IF p_version <> b.version THEN RETURN json_build_array('version', fn.shown(b)); END IF;
  SELECT * INTO x FROM fn.act(p_now, p_action, p_actor, json_populate_record(NULL::fn.patch, p_patch), b);
  IF x.verdict IS NOT NULL THEN RETURN json_build_array(x.verdict, fn.shown(b)); END IF;
  RETURN json_build_array('done', fn.shown(fn.save_task(p_now, b, x.t, x.entry)));
END $$;

-- The same, or ["missing"].
CREATE FUNCTION fn.change(
  p_time bigint, p_tenant text, p_id text, p_action text, p_patch json, p_version int, p_actor text
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_takes_key boolean := p_action = 'replay';
  b sluice.task := fn.lock_task(p_tenant, p_id, v_takes_key);
  v_answer json;
BEGIN
  IF b.seq IS NULL THEN RETURN '["missing"]'; END IF;
  v_answer := fn.change_locked(fn.time_of(p_time), b, p_action, p_patch, p_version, p_actor);
  IF v_takes_key THEN PERFORM fn.drop_free_keys(ARRAY[b.worker], ARRAY[b.key]); END IF;
  RETURN v_answer;
END $$;

CREATE FUNCTION fn.remove(p_time bigint, p_tenant text, p_id text, p_version int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  t sluice.task := fn.lock_task(p_tenant, p_id, false);
BEGIN
  IF t.seq IS NULL THEN RETURN 'missing'; END IF;
  IF p_version <> t.version THEN RETURN 'version'; END IF;
  IF t.status = ${STATUS.running} THEN RETURN 'running'; END IF;
  PERFORM fn.remove_task(fn.time_of(p_time), t);
  RETURN 'removed';
END $$;
`;
