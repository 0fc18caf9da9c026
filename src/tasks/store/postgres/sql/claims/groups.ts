import { STATUS } from '../../../codes.ts';

const WAITING = `status IN (0, 2) AND due_at IS NOT NULL`;

/**
 * Functions that keep the rows of groups (`task_group`). For a change of a task, the number of running tasks of its group and
 * the time at which a claim must read it follow.
 */
export const GROUPS = `
CREATE FUNCTION fn.forget_idle(p_worker int, p_group text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM sluice.task_group WHERE worker = p_worker AND name = p_group AND running = 0 AND NOT EXISTS (
    SELECT FROM sluice.task WHERE worker + 0 = p_worker AND grp = p_group AND ${WAITING} ORDER BY run_at, id LIMIT 1
  );
END $$;

-- A full group is not read before one of its tasks ends.
CREATE FUNCTION fn.look_at_group(p_worker int, p_group text, p_at bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO sluice.task_group AS g (worker, name, running, next_at) VALUES (p_worker, p_group, 0, p_at)
  ON CONFLICT (worker, name) DO UPDATE SET next_at = least(g.next_at, excluded.next_at) WHERE g."full" IS NULL;
END $$;

-- When a task of a full group ends, the group must be read again.
CREATE FUNCTION fn.end_in_group(p_now bigint, p_worker int, p_group text, p_count int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE sluice.task_group SET running = running - p_count, next_at = p_now, "full" = NULL
  WHERE worker = p_worker AND name = p_group;
  PERFORM fn.forget_idle(p_worker, p_group);
END $$;

-- Locks the groups of tasks, in one order. Adds rows that do not exist, so that another transaction cannot add them in
-- another order. Callers must forget groups that are idle in the end.
CREATE FUNCTION fn.lock_groups_of(p_tasks sluice.task[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO sluice.task_group AS g (worker, name, running)
  SELECT DISTINCT worker, grp, 0 FROM unnest(p_tasks) WHERE worker IS NOT NULL AND grp IS NOT NULL ORDER BY worker, grp
  ON CONFLICT (worker, name) DO UPDATE SET running = g.running WHERE false;
END $$;

CREATE FUNCTION fn.forget_groups_of(p_tasks sluice.task[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM fn.forget_idle(u.worker, u.grp)
  FROM (SELECT DISTINCT worker, grp FROM unnest(p_tasks) WHERE worker IS NOT NULL AND grp IS NOT NULL) AS u;
END $$;

-- Locks what changes when these tasks end: the tasks that they hold, and the groups of all of them.
CREATE FUNCTION fn.lock_for_end(p_tenant int, p_tasks sluice.task[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM fn.lock_groups_of(p_tasks || ARRAY(
    SELECT h FROM sluice.task h WHERE h.tenant + 0 = p_tenant AND h.status < ${STATUS.succeeded}
      AND h.held_by = ANY (ARRAY(SELECT u.id FROM unnest(p_tasks) AS u))
    ORDER BY h.seq FOR UPDATE
  ));
END $$;

-- p_task: after the change, or removed. p_from: the status before.
CREATE FUNCTION fn.follow_group(p_now bigint, p_task sluice.task, p_from int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF p_task.grp IS NULL OR (p_from = ${STATUS.running} AND p_task.status = ${STATUS.running}) THEN RETURN; END IF;
  IF p_from IN (${STATUS.scheduled}, ${STATUS.retry}) OR p_task.status IN (${STATUS.scheduled}, ${STATUS.retry}) THEN
    PERFORM fn.look_at_group(p_task.worker, p_task.grp, p_now);
  END IF;
  PERFORM fn.forget_idle(p_task.worker, p_task.grp);
END $$;

-- Whether a task of a push worker has left the line of its group, or moved back in it: in a fifo group, the next task may
-- start then. b: before the change. t: after it; null if the task was removed.
CREATE FUNCTION fn.made_way(b sluice.task, t sluice.task) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF b.grp IS NULL OR b.status NOT IN (${STATUS.scheduled}, ${STATUS.retry}) OR b.due_at IS NULL THEN RETURN false; END IF;
  IF t.seq IS NULL THEN RETURN b.wake; END IF;
  RETURN t.wake AND (t.status = ${STATUS.paused} OR t.status >= ${STATUS.succeeded} OR t.run_at > b.run_at);
END $$;
`;
