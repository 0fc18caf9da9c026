import { DOCUMENT } from '../../../codes.ts';

/**
 * Functions that read copies. They see the data of one moment. A page ends with the copy that reaches p_bytes, or with p_max.
 */
export const COPY_OUT = `
-- For each document: its values, its names, and the bucket, its time and the throttle of a worker or an account.
CREATE FUNCTION fn.copied_document(d sluice.doc) RETURNS json STABLE LANGUAGE plpgsql AS $$
DECLARE
  v_names text[] := ARRAY(SELECT name FROM sluice.doc_name WHERE doc = d.no ORDER BY name);
  x record;
BEGIN
  IF d.kind = ${DOCUMENT.account} THEN
    SELECT tokens, bucket_at, NULL::bigint AS throttled_until INTO x FROM sluice.tenant WHERE no = d.tenant;
  ELSIF d.kind = ${DOCUMENT.worker} THEN
    SELECT tokens, bucket_at, throttled_until INTO x FROM sluice.worker WHERE tenant = d.tenant AND id = d.id;
  ELSE
    RETURN json_build_array(fn.document_values(d), v_names, NULL, NULL, NULL);
  END IF;
  RETURN json_build_array(fn.document_values(d), v_names, x.tokens, x.bucket_at, x.throttled_until);
END $$;

-- p_kinds: each sorted by id; the first one begins after p_after.
CREATE FUNCTION fn.copy_documents(p_tenant text, p_kinds text[], p_after text, p_max int, p_bytes int) RETURNS json STABLE
LANGUAGE plpgsql AS $$
DECLARE
  v_tenant int := (SELECT no FROM sluice.tenant WHERE name = p_tenant);
  v_after text := p_after;
  v_kind text;
  d sluice.doc;
  v_copies json[] := '{}';
  v_bytes int := 0;
BEGIN
  FOREACH v_kind IN ARRAY p_kinds LOOP
    FOR d IN
      SELECT * FROM sluice.doc WHERE tenant = v_tenant AND kind = v_kind::smallint AND id > v_after ORDER BY id LIMIT p_max
    LOOP
      v_copies := v_copies || fn.copied_document(d);
      v_bytes := v_bytes + length(d.body);
      IF v_bytes >= p_bytes OR cardinality(v_copies) = p_max THEN RETURN array_to_json(v_copies); END IF;
    END LOOP;
    v_after := '';
  END LOOP;
  RETURN array_to_json(v_copies);
END $$;

-- [task, payload, headers, result, entries, wake, begun, lease, its end, the latest end, event of its end, whether it holds
-- its key, when the key becomes free]
CREATE FUNCTION fn.copied_task(t sluice.task, b sluice.body) RETURNS json STABLE LANGUAGE plpgsql AS $$
DECLARE
  x record;
BEGIN
  SELECT free_at INTO x FROM sluice.task_key WHERE worker = t.worker AND key = t.key AND seq = t.seq;
  RETURN json_build_array(
    fn.shown(t), b.payload, b.headers, b.result,
    ARRAY(SELECT fn.entry_values(e) FROM sluice.event e WHERE e.seq = t.seq ORDER BY e.n),
    t.wake, t.began_at, t.lease, t.lease_until, t.lease_cap, t.lease_event, FOUND, x.free_at
  );
END $$;

CREATE FUNCTION fn.copy_tasks(p_tenant text, p_after text, p_max int, p_bytes int) RETURNS json STABLE
LANGUAGE plpgsql AS $$
DECLARE
  v_tenant int := (SELECT no FROM sluice.tenant WHERE name = p_tenant);
  t sluice.task;
  b sluice.body;
  v_copy json;
  v_copies json[] := '{}';
  v_bytes int := 0;
BEGIN
  FOR t IN SELECT * FROM sluice.task WHERE tenant = v_tenant AND id > p_after ORDER BY id LIMIT p_max LOOP
    SELECT * INTO b FROM sluice.body WHERE seq = t.seq;
    v_copy := fn.copied_task(t, b);
    v_copies := v_copies || v_copy;
    v_bytes := v_bytes + length(v_copy::text);
    EXIT WHEN v_bytes >= p_bytes;
  END LOOP;
  RETURN array_to_json(v_copies);
END $$;

-- [span, start, number of the worker, its id, figures]…, after a span, a start and a number.
CREATE FUNCTION fn.copy_usage(p_tenant text, p_span int, p_at bigint, p_worker int, p_max int) RETURNS json STABLE
LANGUAGE plpgsql AS $$
DECLARE
  v_tenant int := (SELECT no FROM sluice.tenant WHERE name = p_tenant);
BEGIN
  RETURN array_to_json(ARRAY(
    SELECT json_build_array(u.span, u.at, u.worker, (SELECT w.id FROM sluice.worker w WHERE w.no = u.worker), u.figures)
    FROM sluice.usage u WHERE u.tenant = v_tenant AND (u.span, u.at, u.worker) > (p_span, p_at, p_worker)
    ORDER BY u.span, u.at, u.worker LIMIT p_max
  ));
END $$;

-- [number of the tenant, tenant, scope, key, fingerprint, until, note, results]…, after a number, a scope and a key.
CREATE FUNCTION fn.recall_all(
  p_time bigint, p_tenant int, p_scope text, p_key text, p_max int, p_bytes int
) RETURNS json STABLE LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := fn.time_of(p_time);
  i sluice.idem;
  v_copies json[] := '{}';
  v_bytes int := 0;
BEGIN
  FOR i IN
    SELECT * FROM sluice.idem x
    WHERE (tenant, scope, key) > (p_tenant, p_scope, p_key) AND until > v_now
      AND EXISTS (SELECT FROM sluice.tenant WHERE no = x.tenant)
    ORDER BY tenant, scope, key LIMIT p_max
  LOOP
    v_copies := v_copies || json_build_array(
      i.tenant, (SELECT name FROM sluice.tenant WHERE no = i.tenant), i.scope, i.key, i.fingerprint, i.until, i.note,
      i.results::json
    );
    v_bytes := v_bytes + length(i.note) + coalesce(length(i.results), 0);
    EXIT WHEN v_bytes >= p_bytes;
  END LOOP;
  RETURN array_to_json(v_copies);
END $$;
`;
