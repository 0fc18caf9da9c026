import { DOCUMENT, STATUS } from '../../codes.ts';

/** Maximum number of rows of a table that one call of `forget_tenant` removes. */
const FORGOTTEN_AT_ONCE = 500;

/** One step removes about this number of history entries at most, so that it ends soon. */
const MAX_ENTRIES = 20_000;

/** Functions that remove old data, and all data of a tenant without tasks. */
export const REMOVAL = `
-- Final tasks that ended before a time, the oldest first.
CREATE FUNCTION fn.over_tasks(p_tenant int, p_status int, p_before bigint, p_max int) RETURNS sluice.task[]
LANGUAGE plpgsql AS $$
BEGIN
  RETURN ARRAY(
    SELECT k FROM sluice.task k
    WHERE k.tenant = p_tenant AND k.status = p_status AND k.status >= ${STATUS.succeeded} AND k.finished_at < p_before
    ORDER BY k.finished_at LIMIT p_max
  );
END $$;

-- Removes final tasks that ended before a time, at most p_max. What others have locked stays.
CREATE FUNCTION fn.purge_tasks(
  p_tenant int, p_status int, p_before bigint, p_max int, OUT removed int, OUT more boolean
) LANGUAGE plpgsql AS $$
DECLARE
  v_seqs bigint[];
  v_keys bigint[];
BEGIN
  SELECT coalesce(array_agg(x.seq) FILTER (WHERE x.before < ${MAX_ENTRIES}), '{}'),
    coalesce(count(*) = p_max OR bool_or(x.before >= ${MAX_ENTRIES}), false)
  INTO v_seqs, more FROM (
    SELECT t.seq, sum(t.events) OVER (ORDER BY t.finished_at, t.seq) - t.events AS before
    FROM unnest(fn.over_tasks(p_tenant, p_status, p_before, p_max)) AS t
  ) AS x;
  removed := 0;
  IF cardinality(v_seqs) = 0 THEN RETURN; END IF;
  v_keys := ARRAY(
    SELECT k.seq FROM sluice.task_key k WHERE (k.worker, k.key) IN (
      SELECT worker, key FROM sluice.task WHERE seq = ANY (v_seqs) AND key IS NOT NULL
    ) FOR UPDATE SKIP LOCKED
  );
  v_seqs := ARRAY(
    SELECT t.seq FROM sluice.task t WHERE t.seq = ANY (v_seqs) AND t.status >= ${STATUS.succeeded} AND t.status + 0 = p_status
      AND t.finished_at + 0 < p_before
      AND (t.key IS NULL OR t.seq = ANY (v_keys) OR NOT EXISTS (
        SELECT FROM sluice.task_key k WHERE k.worker = t.worker AND k.key = t.key AND k.seq = t.seq
      ))
    FOR UPDATE SKIP LOCKED
  );
  DELETE FROM sluice.task_key k USING sluice.task t
  WHERE t.seq = ANY (v_seqs) AND k.worker = t.worker AND k.key = t.key AND k.seq = t.seq;
  PERFORM fn.tally(p_tenant, array_agg(worker), array_agg(p_status), array_agg(-1))
  FROM sluice.task WHERE seq = ANY (v_seqs) HAVING count(*) > 0;
  DELETE FROM sluice.task WHERE seq = ANY (v_seqs) AND status >= ${STATUS.succeeded};
  DELETE FROM sluice.body WHERE seq = ANY (v_seqs);
  DELETE FROM sluice.event WHERE seq = ANY (v_seqs);
  removed := cardinality(v_seqs);
END $$;

-- Removes expired keys, expired records and old usage, at most p_max of each. Returns whether there may be more.
CREATE FUNCTION fn.purge_others(p_now bigint, p_tenant int, p_max int) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v_keys int;
  v_records int;
BEGIN
  DELETE FROM sluice.task_key WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM sluice.task_key WHERE tenant = p_tenant AND free_at <= p_now
    ORDER BY free_at LIMIT p_max FOR UPDATE SKIP LOCKED
  ));
  GET DIAGNOSTICS v_keys = ROW_COUNT;
  DELETE FROM sluice.idem WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM sluice.idem WHERE tenant = p_tenant AND until <= p_now ORDER BY until LIMIT p_max FOR UPDATE SKIP LOCKED
  ));
  GET DIAGNOSTICS v_records = ROW_COUNT;
  RETURN v_keys = p_max OR v_records = p_max OR fn.purge_usage(p_now, p_tenant, p_max) = p_max;
END $$;

-- [number of removed tasks, whether there may be more]
CREATE FUNCTION fn.purge(p_time bigint, p_tenant text, p_succeeded_ms bigint, p_other_ms bigint, p_max int) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
  v_tenant int := (SELECT no FROM sluice.tenant WHERE name = p_tenant);
  v_now bigint := fn.time_of(p_time);
  v_status int;
  x record;
  v_tasks int := 0;
  v_more boolean;
BEGIN
  IF v_tenant IS NULL THEN RETURN '[0,false]'; END IF;
  v_more := fn.purge_others(v_now, v_tenant, p_max);
  FOR v_status IN ${STATUS.succeeded}..${STATUS.expired} LOOP
    SELECT * INTO x FROM fn.purge_tasks(
      v_tenant, v_status, v_now - CASE v_status WHEN ${STATUS.succeeded} THEN p_succeeded_ms ELSE p_other_ms END,
      p_max - v_tasks
    );
    v_tasks := v_tasks + x.removed;
    v_more := v_more OR x.more;
    EXIT WHEN x.more;
  END LOOP;
  RETURN json_build_array(v_tasks, v_more);
END $$;

-- Removes a part of the data of a tenant without tasks, except its documents. Returns whether there may be more.
CREATE FUNCTION fn.forget_tenant(p_now bigint, p_tenant text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v_tenant int := (SELECT no FROM sluice.tenant WHERE name = p_tenant);
  v_workers int[];
  v_records int;
  v_usages int;
BEGIN
  IF v_tenant IS NULL OR EXISTS (SELECT FROM sluice.task WHERE tenant = v_tenant) THEN RETURN false; END IF;
  DELETE FROM sluice.idem WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM sluice.idem WHERE tenant = v_tenant LIMIT ${FORGOTTEN_AT_ONCE}
  ));
  GET DIAGNOSTICS v_records = ROW_COUNT;
  v_workers := ARRAY(
    SELECT w.no FROM sluice.worker w WHERE w.tenant = v_tenant AND NOT EXISTS (
      SELECT FROM sluice.doc d WHERE d.tenant = v_tenant AND d.kind = ${DOCUMENT.worker} AND d.id = w.id
    ) LIMIT ${FORGOTTEN_AT_ONCE}
  );
  DELETE FROM sluice.task_key WHERE worker = ANY (v_workers);
  DELETE FROM sluice.task_group WHERE worker = ANY (v_workers);
  DELETE FROM sluice.tally WHERE tenant = v_tenant AND worker = ANY (v_workers);
  DELETE FROM sluice.worker WHERE no = ANY (v_workers);
  DELETE FROM sluice.wake WHERE tenant = v_tenant;
  v_usages := fn.forget_usage(v_tenant, ${FORGOTTEN_AT_ONCE});
  UPDATE sluice.worker SET tokens = NULL, bucket_at = NULL, throttled_until = NULL WHERE tenant = v_tenant;
  UPDATE sluice.tenant SET tokens = NULL, bucket_at = NULL WHERE no = v_tenant;
  RETURN v_records + cardinality(v_workers) + v_usages > 0;
END $$;
`;
