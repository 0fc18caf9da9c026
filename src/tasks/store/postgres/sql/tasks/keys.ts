/**
 * Functions for the keys of tasks. Whoever changes a task with a key locks the row of the key before the task; whoever
 * creates one, or takes its key again, adds the row first, so that the second of two callers waits.
 */
export const KEYS = `
CREATE FUNCTION fn.lock_key(p_worker int, p_key text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF p_key IS NOT NULL THEN
    PERFORM 1 FROM sluice.task_key WHERE worker = p_worker AND key = p_key FOR UPDATE;
  END IF;
END $$;

-- Locks the rows of keys, and adds those that do not exist, in one order. Rows that exist are not changed.
CREATE FUNCTION fn.add_keys(p_tenant int, p_workers int[], p_keys text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO sluice.task_key AS k (worker, key, tenant, seq, free_at)
  SELECT DISTINCT u.worker, u.key, p_tenant, 0, 0 FROM unnest(p_workers, p_keys) AS u (worker, key)
  WHERE u.worker IS NOT NULL AND u.key IS NOT NULL ORDER BY u.worker, u.key
  ON CONFLICT (worker, key) DO UPDATE SET seq = k.seq WHERE false;
END $$;

-- Removes rows that were added, if no task has taken the key.
CREATE FUNCTION fn.drop_free_keys(p_workers int[], p_keys text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM sluice.task_key k WHERE k.seq = 0 AND (k.worker, k.key) IN (SELECT * FROM unnest(p_workers, p_keys));
END $$;

-- Takes the key of a replayed task. Returns false if another task has it.
CREATE FUNCTION fn.take_key_again(p_now bigint, t sluice.task) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF t.key IS NULL THEN RETURN true; END IF;
  INSERT INTO sluice.task_key AS k (worker, key, tenant, seq, free_at) VALUES (t.worker, t.key, t.tenant, t.seq, NULL)
  ON CONFLICT (worker, key) DO UPDATE SET seq = excluded.seq, free_at = NULL
  WHERE k.seq = excluded.seq OR k.free_at <= p_now;
  RETURN FOUND;
END $$;

-- Releases the key of a task. If the task was held by one with the same key, the key returns to that task. Otherwise it
-- becomes free at p_free_at, or at once if that is null.
CREATE FUNCTION fn.leave_key(p_now bigint, t sluice.task, p_held_by text, p_free_at bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  o record;
BEGIN
  IF t.key IS NULL OR NOT EXISTS (
    SELECT FROM sluice.task_key WHERE worker = t.worker AND key = t.key AND seq = t.seq
  ) THEN RETURN; END IF;
  SELECT seq, key, worker INTO o FROM sluice.task WHERE tenant = t.tenant AND id = p_held_by;
  IF o.key = t.key AND o.worker = t.worker THEN
    UPDATE sluice.task_key SET seq = o.seq, free_at = NULL WHERE worker = t.worker AND key = t.key;
  ELSIF p_free_at > p_now THEN
    UPDATE sluice.task_key SET free_at = p_free_at WHERE worker = t.worker AND key = t.key;
  ELSE
    DELETE FROM sluice.task_key WHERE worker = t.worker AND key = t.key;
  END IF;
END $$;
`;
