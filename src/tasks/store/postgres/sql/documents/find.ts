const VALUES = 'd.kind, d.id, d.version, d.parent, d.due_at, d.body';
const DUE = 'k.due_at <= v_now ORDER BY k.due_at, k.no';

/** Functions that read documents: `[kind, id, version, parent, due at, body]`. */
export const FIND_DOCUMENTS = `
CREATE FUNCTION fn.document_values(d sluice.doc) RETURNS json LANGUAGE sql AS $$ SELECT json_build_array(${VALUES}) $$;

CREATE FUNCTION fn.get_document(p_tenant text, p_kind int, p_id text) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  RETURN (
    SELECT fn.document_values(d) FROM sluice.doc d JOIN sluice.tenant t ON t.no = d.tenant
    WHERE t.name = p_tenant AND d.kind = p_kind AND d.id = p_id
  );
END $$;

CREATE FUNCTION fn.find_document(p_tenant text, p_name text) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  RETURN (
    SELECT fn.document_values(d) FROM sluice.doc_name n JOIN sluice.tenant t ON t.no = n.tenant
    JOIN sluice.doc d ON d.no = n.doc WHERE t.name = p_tenant AND n.name = p_name
  );
END $$;

-- p_parent: null for any.
CREATE FUNCTION fn.list_documents(
  p_tenant text, p_kind int, p_parent text, p_after text, p_limit int, p_descending boolean
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_tenant int := (SELECT no FROM sluice.tenant WHERE name = p_tenant);
  v_text text := 'SELECT json_agg(fn.document_values(x.d)) FROM (
    SELECT d FROM sluice.doc d WHERE tenant = $1 AND kind = $2';
  v_answer json;
BEGIN
  IF p_parent IS NOT NULL THEN v_text := v_text || ' AND parent = $3'; END IF;
  IF p_after IS NOT NULL THEN v_text := v_text || CASE WHEN p_descending THEN ' AND id < $4' ELSE ' AND id > $4' END; END IF;
  v_text := v_text || ' ORDER BY id' || CASE WHEN p_descending THEN ' DESC' ELSE '' END || ' LIMIT $5) AS x';
  EXECUTE v_text INTO v_answer USING v_tenant, p_kind::smallint, p_parent, p_after, p_limit;
  RETURN v_answer;
END $$;

-- [tenant, [kind, …]] of each account, by tenant.
CREATE FUNCTION fn.accounts(p_kind int, p_id text, p_after text, p_limit int) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  RETURN array_to_json(ARRAY(
    SELECT json_build_array(t.name, fn.document_values(d)) FROM sluice.tenant t
    JOIN sluice.doc d ON d.tenant = t.no AND d.kind = p_kind AND d.id = p_id
    WHERE t.known AND t.name > p_after ORDER BY t.name LIMIT p_limit
  ));
END $$;

CREATE FUNCTION fn.count_documents(p_tenant text, p_kind int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
  RETURN (
    SELECT count(*) FROM sluice.doc d JOIN sluice.tenant t ON t.no = d.tenant WHERE t.name = p_tenant AND d.kind = p_kind
  );
END $$;
`;

/** Functions that read due documents: `[tenant, [kind, …]]`. */
export const DUE_DOCUMENTS = `
-- Reads due documents of a tenant (null: of all) up to the one that reaches p_bytes.
CREATE FUNCTION fn.read_due(v_now bigint, p_tenant int, p_max int, p_bytes int, OUT documents json[], OUT bytes int)
LANGUAGE plpgsql AS $$
DECLARE
  v_cursor refcursor;
  d sluice.doc;
BEGIN
  documents := '{}';
  bytes := 0;
  IF p_tenant IS NULL THEN
    OPEN v_cursor FOR SELECT k.* FROM sluice.doc k WHERE ${DUE} LIMIT p_max;
  ELSE
    OPEN v_cursor FOR SELECT k.* FROM sluice.doc k WHERE k.tenant = p_tenant AND ${DUE} LIMIT p_max;
  END IF;
  WHILE bytes < p_bytes LOOP
    FETCH v_cursor INTO d;
    EXIT WHEN NOT FOUND;
    documents := documents || json_build_array((SELECT name FROM sluice.tenant WHERE no = d.tenant), fn.document_values(d));
    bytes := bytes + length(d.body);
  END LOOP;
  CLOSE v_cursor;
END $$;

-- p_least: the least share of a tenant, in documents. See dueShare and inTurnsAfter in documents.ts.
CREATE FUNCTION fn.due_documents(p_time bigint, p_max int, p_bytes int, p_least int, p_after text) RETURNS json
LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := fn.time_of(p_time);
  x record;
  v_tenant int;
  v_tenants int[];
  v_share int;
  v_found json[] := '{}';
  v_bytes int := 0;
BEGIN
  SELECT * INTO x FROM fn.read_due(v_now, NULL, p_max, p_bytes);
  IF cardinality(x.documents) < p_max AND x.bytes < p_bytes THEN RETURN array_to_json(x.documents); END IF;
  v_tenants := ARRAY(
    SELECT t.no FROM sluice.tenant t
    WHERE EXISTS (SELECT FROM sluice.doc d WHERE d.tenant = t.no AND d.due_at <= v_now)
    ORDER BY coalesce(t.name > p_after, true) DESC, t.name
  );
  IF cardinality(v_tenants) = 1 THEN RETURN array_to_json(x.documents); END IF;
  v_share := greatest(p_least, ceil(p_max::numeric / cardinality(v_tenants)));
  FOREACH v_tenant IN ARRAY v_tenants LOOP
    SELECT * INTO x FROM fn.read_due(
      v_now, v_tenant, least(v_share, p_max - cardinality(v_found)),
      ceil(p_bytes::numeric / cardinality(v_tenants))::int
    );
    v_found := v_found || x.documents;
    v_bytes := v_bytes + x.bytes;
    EXIT WHEN cardinality(v_found) >= p_max OR v_bytes >= p_bytes;
  END LOOP;
  RETURN array_to_json(v_found);
END $$;
`;
