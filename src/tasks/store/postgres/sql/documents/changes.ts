import { DOCUMENT } from '../../../codes.ts';
import { MAX_DROPPED } from '../../../documents.ts';
import { LOCK } from '../locks.ts';

/** Functions that put a document. */
export const PUT_DOCUMENT = `
-- expect: a version, or null for any. absent: the document must not exist.
CREATE TYPE fn.document_change AS (
  op text, kind smallint, id text, expect int, absent boolean, parent text, due_at bigint, names text[], body text,
  at_most int, keep_newest int, no_open_tasks_of text, children smallint
);

CREATE FUNCTION fn.put_refusal(p_tenant int, d sluice.doc, c fn.document_change) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF c.absent AND d.no IS NOT NULL THEN RETURN 'exists'; END IF;
  IF c.expect IS NOT NULL AND d.no IS NULL THEN RETURN 'missing'; END IF;
  IF c.expect <> d.version THEN RETURN 'version'; END IF;
  IF EXISTS (
    SELECT FROM sluice.doc_name WHERE tenant = p_tenant AND name = ANY (c.names) AND doc IS DISTINCT FROM d.no
  ) THEN RETURN 'name_taken'; END IF;
  IF d.no IS NULL AND c.at_most IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(${LOCK.siblings}, hashtext(p_tenant || ' ' || c.kind || ' ' || c.parent));
    IF fn.count_siblings(p_tenant, c) >= c.at_most THEN RETURN 'too_many'; END IF;
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION fn.count_siblings(p_tenant int, c fn.document_change) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  RETURN (SELECT count(*) FROM sluice.doc WHERE tenant = p_tenant AND kind = c.kind AND parent = c.parent);
END $$;

CREATE FUNCTION fn.drop_documents(p_numbers bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM sluice.doc_name WHERE doc = ANY (p_numbers);
  DELETE FROM sluice.doc WHERE no = ANY (p_numbers);
END $$;

-- If another transaction creates the same document or takes a name at the same time, the transaction is to be repeated.
CREATE FUNCTION fn.put_document(p_tenant int, c fn.document_change, OUT version int, OUT reason text)
LANGUAGE plpgsql AS $$
DECLARE
  d sluice.doc;
  v_no bigint;
  v_names text[] := ARRAY(SELECT DISTINCT u FROM unnest(c.names) AS u ORDER BY u);
  v_named int := 0;
BEGIN
  SELECT * INTO d FROM sluice.doc k WHERE k.tenant = p_tenant AND k.kind = c.kind AND k.id = c.id FOR UPDATE;
  reason := fn.put_refusal(p_tenant, d, c);
  IF reason IS NOT NULL THEN RETURN; END IF;
  version := coalesce(d.version, 0) + 1;
  IF d.no IS NULL THEN
    INSERT INTO sluice.doc AS k (tenant, kind, id, parent, version, due_at, body)
    VALUES (p_tenant, c.kind, c.id, c.parent, 1, c.due_at, c.body) ON CONFLICT DO NOTHING RETURNING k.no INTO v_no;
  ELSE
    v_no := d.no;
    UPDATE sluice.doc AS k SET parent = c.parent, version = d.version + 1, due_at = c.due_at, body = c.body WHERE k.no = v_no;
    DELETE FROM sluice.doc_name WHERE doc = v_no;
  END IF;
  INSERT INTO sluice.doc_name (tenant, name, doc) SELECT p_tenant, u, v_no FROM unnest(v_names) AS u
  WHERE v_no IS NOT NULL ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS v_named = ROW_COUNT;
  IF v_no IS NULL OR v_named < cardinality(v_names) THEN RAISE SQLSTATE '40001'; END IF;
  IF d.no IS NULL AND c.keep_newest IS NOT NULL THEN
    PERFORM fn.drop_documents(ARRAY(
      SELECT k.no FROM sluice.doc k WHERE k.tenant = p_tenant AND k.kind = c.kind AND k.parent = c.parent
      ORDER BY k.id LIMIT least(${MAX_DROPPED}, greatest(0, fn.count_siblings(p_tenant, c) - c.keep_newest))
    ));
  END IF;
END $$;
`;

/** Functions that delete documents, and that apply several changes. */
export const APPLY = `
CREATE FUNCTION fn.delete_document(p_tenant int, c fn.document_change) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  d sluice.doc;
  v_worker int;
BEGIN
  SELECT * INTO d FROM sluice.doc WHERE tenant = p_tenant AND kind = c.kind AND id = c.id FOR UPDATE;
  IF NOT FOUND THEN RETURN 'missing'; END IF;
  IF c.expect <> d.version THEN RETURN 'version'; END IF;
  PERFORM 1 FROM sluice.doc WHERE tenant = p_tenant AND kind = c.children AND parent = c.id ORDER BY id FOR UPDATE;
  IF c.no_open_tasks_of IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(${LOCK.worker}, hashtext(c.no_open_tasks_of));
    v_worker := (SELECT no FROM sluice.worker WHERE tenant = p_tenant AND id = c.no_open_tasks_of);
    IF fn.count_open(p_tenant, v_worker) > 0 THEN RETURN 'has_tasks'; END IF;
  END IF;
  IF c.kind = ${DOCUMENT.worker} THEN
    UPDATE sluice.worker SET tokens = NULL, bucket_at = NULL, throttled_until = NULL WHERE tenant = p_tenant AND id = c.id;
  END IF;
  PERFORM fn.drop_documents(d.no || ARRAY(
    SELECT no FROM sluice.doc WHERE tenant = p_tenant AND kind = c.children AND parent = c.id
  ));
  RETURN NULL;
END $$;

-- Applies the changes in order, up to the first one that is refused, of which the index and the reason are returned.
CREATE FUNCTION fn.apply_changes(p_tenant int, p_changes json, OUT versions int[], OUT index int, OUT reason text)
LANGUAGE plpgsql AS $$
DECLARE
  c fn.document_change;
  v_version int;
BEGIN
  versions := '{}';
  FOR c IN SELECT * FROM json_populate_recordset(NULL::fn.document_change, p_changes) LOOP
    v_version := 0;
    IF c.op = 'put' THEN
      SELECT p.version, p.reason INTO v_version, reason FROM fn.put_document(p_tenant, c) AS p;
    ELSE
      reason := fn.delete_document(p_tenant, c);
    END IF;
    IF reason IS NOT NULL THEN
      index := cardinality(versions);
      RETURN;
    END IF;
    versions := versions || v_version;
    IF c.kind = ${DOCUMENT.account} THEN
      UPDATE sluice.tenant SET known = c.op = 'put' WHERE no = p_tenant AND known <> (c.op = 'put');
    END IF;
  END LOOP;
END $$;

-- The same; if one is refused, nothing is done.
CREATE FUNCTION fn.apply_all(p_tenant int, p_changes json, OUT versions int[], OUT index int, OUT reason text)
LANGUAGE plpgsql AS $$
BEGIN
  SELECT a.versions, a.index, a.reason INTO versions, index, reason FROM fn.apply_changes(p_tenant, p_changes) AS a;
  IF reason IS NOT NULL THEN RAISE SQLSTATE 'SLUIC'; END IF;
EXCEPTION WHEN SQLSTATE 'SLUIC' THEN NULL;
END $$;

-- Removes the row of a tenant whose account was deleted, if no other data refers to it. The caller has the exclusive lock of
-- the tenant, so that nothing is written for it meanwhile.
CREATE FUNCTION fn.drop_tenant(p_tenant int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM sluice.tenant WHERE no = p_tenant
    AND NOT EXISTS (SELECT FROM sluice.doc WHERE tenant = p_tenant)
    AND NOT EXISTS (SELECT FROM sluice.task WHERE tenant = p_tenant)
    AND NOT EXISTS (SELECT FROM sluice.worker WHERE tenant = p_tenant)
    AND NOT EXISTS (SELECT FROM sluice.idem WHERE tenant = p_tenant);
  IF FOUND THEN
    -- Another thread may have written what it counted after the tenant was forgotten.
    DELETE FROM sluice.usage WHERE tenant = p_tenant;
    DELETE FROM sluice.tally WHERE tenant = p_tenant;
    DELETE FROM sluice.wake WHERE tenant = p_tenant;
  END IF;
END $$;

CREATE TYPE fn.record AS (scope text, key text, fingerprint text, keep bigint, note text);

-- ["done", versions] · ["replayed", results, note] · ["reused"] · ["refused", index, reason]
CREATE FUNCTION fn.apply(p_now bigint, p_tenant text, p_changes json, p_record json, p_drops boolean) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
  q fn.record := json_populate_record(NULL::fn.record, p_record);
  v_tenant int;
  v_known json;
  x record;
BEGIN
  IF p_drops THEN PERFORM pg_advisory_xact_lock(${LOCK.tenant}, hashtext(p_tenant)); END IF;
  IF q.key IS NOT NULL THEN
    v_known := fn.recalled(p_now, p_tenant, q.scope, q.key, q.fingerprint, true);
    IF v_known IS NOT NULL THEN RETURN v_known; END IF;
  END IF;
  v_tenant := fn.add_tenant(p_tenant);
  SELECT * INTO x FROM fn.apply_all(v_tenant, p_changes);
  IF x.reason IS NOT NULL THEN RETURN json_build_array('refused', x.index, x.reason); END IF;
  IF q.key IS NOT NULL THEN
    PERFORM fn.write_record(p_now, v_tenant, q.scope, q.key, q.fingerprint, q.keep, q.note, NULL);
  END IF;
  IF p_drops THEN PERFORM fn.drop_tenant(v_tenant); END IF;
  RETURN json_build_array('done', x.versions);
END $$;
`;
