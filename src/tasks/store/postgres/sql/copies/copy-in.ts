import { DOCUMENT, STATUS } from '../../../codes.ts';
import { LOCK } from '../locks.ts';

const WAITS = `status IN (${STATUS.scheduled}, ${STATUS.retry}) AND due_at IS NOT NULL`;

/** Functions that write copies. What exists already stays as it is. */
export const COPY_IN = `
CREATE TYPE fn.document_copy AS (
  kind smallint, id text, parent text, version int, due_at bigint, body text, names text[],
  tokens float8, bucket_at bigint, throttled_until bigint
);

CREATE FUNCTION fn.write_document_copies(p_tenant int, p_copies json) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  c fn.document_copy;
  v_no bigint;
  v_worker int;
BEGIN
  FOR c IN SELECT * FROM json_populate_recordset(NULL::fn.document_copy, p_copies) LOOP
    INSERT INTO sluice.doc (tenant, kind, id, parent, version, due_at, body)
    VALUES (p_tenant, c.kind, c.id, c.parent, c.version, c.due_at, c.body) ON CONFLICT DO NOTHING RETURNING no INTO v_no;
    CONTINUE WHEN NOT FOUND;
    INSERT INTO sluice.doc_name (tenant, name, doc) SELECT p_tenant, u, v_no FROM unnest(c.names) AS u;
    IF c.kind = ${DOCUMENT.account} THEN
      UPDATE sluice.tenant SET known = true, tokens = c.tokens, bucket_at = c.bucket_at WHERE no = p_tenant;
    ELSIF c.kind = ${DOCUMENT.worker} THEN
      v_worker := fn.add_worker(p_tenant, c.id);
      UPDATE sluice.worker SET tokens = c.tokens, bucket_at = c.bucket_at, throttled_until = c.throttled_until
      WHERE no = v_worker;
    END IF;
  END LOOP;
END $$;

-- task: without its number, and those of the tenant and the worker. key_free_at counts if the task holds its key.
CREATE TYPE fn.task_copy AS (
  task sluice.task, payload text, headers text, result text, entries json, holds_key boolean, key_free_at bigint
);

-- Counts copied tasks, those that run in their groups, and tells of those that can start.
CREATE FUNCTION fn.follow_copied(p_tenant int, p_rows sluice.task[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  x record;
BEGIN
  INSERT INTO sluice.task_group AS g (worker, name, running, next_at)
  SELECT worker, grp, count(*) FILTER (WHERE status = ${STATUS.running}), min(due_at) FILTER (WHERE ${WAITS})
  FROM unnest(p_rows) WHERE grp IS NOT NULL AND (status = ${STATUS.running} OR ${WAITS})
  GROUP BY worker, grp ORDER BY worker, grp
  ON CONFLICT (worker, name) DO UPDATE SET
    running = g.running + excluded.running, next_at = least(g.next_at, excluded.next_at), "full" = NULL;
  PERFORM fn.tally(p_tenant, array_agg(c.worker), array_agg(c.status), array_agg(c.n)) FROM (
    SELECT worker, status::int, count(*)::int AS n FROM unnest(p_rows) GROUP BY worker, status
  ) AS c HAVING count(*) > 0;
  FOR x IN
    SELECT worker, min(due_at) AS at FROM unnest(p_rows) WHERE wake AND ${WAITS} GROUP BY worker ORDER BY worker
  LOOP
    PERFORM fn.lower_hint(p_tenant, x.worker, x.at);
  END LOOP;
END $$;

CREATE FUNCTION fn.write_task_copies(p_tenant int, p_copies json) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  c fn.task_copy;
  t sluice.task;
  v_rows sluice.task[] := '{}';
BEGIN
  FOR c IN SELECT * FROM json_populate_recordset(NULL::fn.task_copy, p_copies) LOOP
    t := c.task;
    CONTINUE WHEN EXISTS (SELECT FROM sluice.task WHERE tenant = p_tenant AND id = t.id);
    t.seq := nextval('sluice.task_seq');
    t.tenant := p_tenant;
    t.worker := fn.add_worker(p_tenant, t.worker_id);
    INSERT INTO sluice.task SELECT t.*;
    INSERT INTO sluice.body (seq, payload, headers, result) VALUES (t.seq, c.payload, c.headers, c.result);
    INSERT INTO sluice.event (seq, n, at, event, came_from, led_to, attempt, actor, lease, next_at, more)
    SELECT t.seq, n, at, event, came_from, led_to, attempt, actor, lease, next_at, more
    FROM json_populate_recordset(NULL::sluice.event, c.entries);
    IF c.holds_key THEN
      INSERT INTO sluice.task_key (worker, key, tenant, seq, free_at)
      VALUES (t.worker, t.key, p_tenant, t.seq, c.key_free_at)
      ON CONFLICT (worker, key) DO UPDATE SET seq = excluded.seq, free_at = excluded.free_at;
    END IF;
    v_rows := v_rows || t;
  END LOOP;
  PERFORM fn.follow_copied(p_tenant, v_rows);
END $$;

CREATE TYPE fn.usage_copy AS (span int, at bigint, worker text, figures bigint[]);
CREATE TYPE fn.answer_copy AS (scope text, key text, fingerprint text, until bigint, note text, results text);

-- One call after the other writes copies of a tenant.
CREATE FUNCTION fn.copy_in(
  p_time bigint, p_tenant text, p_documents json, p_tasks json, p_usage json, p_answers json
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_tenant int := fn.add_tenant(p_tenant);
BEGIN
  PERFORM pg_advisory_xact_lock(${LOCK.copies}, v_tenant);
  PERFORM fn.write_document_copies(v_tenant, p_documents);
  PERFORM fn.write_task_copies(v_tenant, p_tasks);
  INSERT INTO sluice.usage (tenant, span, at, worker, figures)
  SELECT v_tenant, c.span, c.at, CASE WHEN c.worker IS NULL THEN 0 ELSE fn.add_worker(v_tenant, c.worker) END, c.figures
  FROM json_populate_recordset(NULL::fn.usage_copy, p_usage) AS c ON CONFLICT DO NOTHING;
  INSERT INTO sluice.idem (tenant, scope, key, fingerprint, until, note, results)
  SELECT v_tenant, c.scope, c.key, c.fingerprint, c.until, c.note, c.results
  FROM json_populate_recordset(NULL::fn.answer_copy, p_answers) AS c ON CONFLICT DO NOTHING;
END $$;
`;
