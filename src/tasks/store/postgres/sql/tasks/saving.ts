import { HISTORY_FIRST_KEPT, HISTORY_LAST_KEPT } from '../../../../model/task.ts';
import { OWN_FIELDS } from '../../../../model/task-content.ts';
import { EVENT, STATUS } from '../../../codes.ts';
import { STORE_ACTOR_TEXT } from '../../../history-gap.ts';
import { SHOWN_COLUMNS } from '../../rows/task-row.ts';

const LEASE_SUFFIX = 4;

/** Of a task with more entries, each new one drops another. */
export const KEPT_ENTRIES = HISTORY_FIRST_KEPT + HISTORY_LAST_KEPT;

/** Columns that change after a task was created. */
const CHANGING = [
  'status',
  'band',
  'due_at',
  'run_at',
  'expires_at',
  'attempt',
  'deferrals',
  'events',
  'version',
  'updated_at',
  'started_at',
  'finished_at',
  'cancel_at',
  'lease',
  'lease_event',
  'held_by',
  'wake',
  'timeout',
  'max_attempts',
  'retry',
  ...OWN_FIELDS,
];

/** Functions that write a task and what follows from a change of it. */
export const SAVING = `
CREATE FUNCTION fn.shown(t sluice.task) RETURNS json LANGUAGE sql AS
$$ SELECT json_build_array(${SHOWN_COLUMNS.map(column => `t.${column}`).join(', ')}) $$;

-- Of an entry: event, actor, attempt, lease and rest. p_from: the status before the change.
CREATE TYPE fn.entry AS (event int, actor text, attempt int, lease text, more text);

-- The number of the entry is that of the task. Entries between the first and the last ones are dropped.
CREATE FUNCTION fn.add_entry(p_now bigint, t sluice.task, p_from int, e fn.entry) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO sluice.event (seq, n, at, event, came_from, led_to, attempt, actor, lease, next_at, more) VALUES (
    t.seq, t.events, p_now, e.event, p_from, t.status, coalesce(e.attempt, t.attempt), e.actor,
    right(e.lease, ${LEASE_SUFFIX}), t.due_at, e.more
  );
  PERFORM fn.drop_entries(ARRAY[t]);
END $$;

-- Drops entries of tasks, each of which has one more than before.
CREATE FUNCTION fn.drop_entries(p_tasks sluice.task[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  t sluice.task;
BEGIN
  FOR t IN SELECT * FROM unnest(p_tasks) AS u WHERE u.events > ${KEPT_ENTRIES} LOOP
    DELETE FROM sluice.event WHERE seq = t.seq AND n = t.events - ${HISTORY_LAST_KEPT};
  END LOOP;
END $$;

-- Writes the changes of a task with an entry, which may be null. b: the task as it was read.
CREATE FUNCTION fn.save_task(p_now bigint, b sluice.task, t sluice.task, e fn.entry) RETURNS sluice.task
LANGUAGE plpgsql AS $$
DECLARE
  v_ends boolean := t.status >= ${STATUS.succeeded} AND b.status < ${STATUS.succeeded};
BEGIN
  t.version := t.version + 1;
  t.updated_at := p_now;
  IF v_ends THEN
    PERFORM fn.lock_for_end(t.tenant, ARRAY[t]);
    t.finished_at := p_now;
    t.due_at := NULL;
    t.held_by := NULL;
  END IF;
  IF e.event IS NOT NULL THEN
    t.events := t.events + 1;
    PERFORM fn.add_entry(p_now, t, b.status, e);
  END IF;
  UPDATE sluice.task SET ${CHANGING.map(column => `${column} = t.${column}`).join(', ')} WHERE seq = t.seq;
  IF v_ends THEN
    PERFORM fn.end_task(p_now, t, b.held_by);
  ELSIF t.wake AND t.due_at IS NOT NULL AND t.status IN (${STATUS.scheduled}, ${STATUS.retry}) THEN
    PERFORM fn.lower_hint(t.tenant, t.worker, t.due_at);
  END IF;
  PERFORM fn.follow_group(p_now, t, b.status);
  IF fn.made_way(b, t) THEN PERFORM fn.lower_hint(t.tenant, t.worker, p_now); END IF;
  IF t.status <> b.status THEN
    PERFORM fn.tally(t.tenant, ARRAY[t.worker, t.worker], ARRAY[b.status, t.status]::int[], ARRAY[-1, 1]);
  END IF;
  RETURN t;
END $$;

-- What follows from the end of a task. p_held_by: the task that held it until then.
CREATE FUNCTION fn.end_task(p_now bigint, t sluice.task, p_held_by text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM fn.leave_key(p_now, t, p_held_by, p_now + t.key_ttl);
  PERFORM fn.release_held(p_now, t.tenant, t.id);
  IF t.on_finish IS NOT NULL THEN PERFORM fn.write_callback(t); END IF;
END $$;

-- Releases the tasks that were held by this one. They are due at their time or now, whichever is later.
CREATE FUNCTION fn.release_held(p_now bigint, p_tenant int, p_id text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  b sluice.task;
  t sluice.task;
  v_entry fn.entry := ROW(${EVENT.updated}, '${STORE_ACTOR_TEXT}', NULL, NULL, '{"changed":["held_by"]}');
BEGIN
  FOR b IN
    SELECT * FROM sluice.task WHERE tenant + 0 = p_tenant AND held_by = p_id AND status < ${STATUS.succeeded}
    ORDER BY seq FOR UPDATE
  LOOP
    t := b;
    t.held_by := NULL;
    t.due_at := greatest(t.run_at, p_now);
    PERFORM fn.save_task(p_now, b, t, v_entry);
  END LOOP;
END $$;

-- Removes a task that does not run, with its body and history. Frees its key and releases the tasks that it holds.
CREATE FUNCTION fn.remove_task(p_now bigint, t sluice.task) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM fn.lock_for_end(t.tenant, ARRAY[t]);
  DELETE FROM sluice.task WHERE seq = t.seq;
  DELETE FROM sluice.body WHERE seq = t.seq;
  DELETE FROM sluice.event WHERE seq = t.seq;
  PERFORM fn.leave_key(p_now, t, t.held_by, NULL);
  PERFORM fn.release_held(p_now, t.tenant, t.id);
  PERFORM fn.follow_group(p_now, t, t.status);
  IF fn.made_way(t, NULL) THEN PERFORM fn.lower_hint(t.tenant, t.worker, p_now); END IF;
  PERFORM fn.tally(t.tenant, ARRAY[t.worker], ARRAY[t.status]::int[], ARRAY[-1]);
END $$;
`;
