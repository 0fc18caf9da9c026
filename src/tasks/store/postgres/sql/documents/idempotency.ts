import { LOCK } from '../locks.ts';

/** Functions for idempotency records. Requests with the same key wait for each other. */
export const IDEMPOTENCY = `
-- The answer to a request whose key is known: ["reused"] or ["replayed", results, note]; null if it is new. A record may be
-- visible before standbys have confirmed it, if its transaction was canceled while it waited for them. The lock writes to
-- the log, so that this transaction waits for them too. p_waits: whether requests with the same key wait for this one. Then
-- a record may follow, so that the tenant stays until this transaction ends.
CREATE FUNCTION fn.recalled(
  p_now bigint, p_tenant text, p_scope text, p_key text, p_fingerprint text, p_waits boolean
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  x sluice.idem;
BEGIN
  IF p_waits THEN
    PERFORM pg_advisory_xact_lock_shared(${LOCK.tenant}, hashtext(p_tenant)),
      pg_advisory_xact_lock(${LOCK.idempotency}, hashtext(p_tenant || ' ' || p_scope || ' ' || p_key));
  END IF;
  SELECT i.* INTO x FROM sluice.idem i JOIN sluice.tenant t ON t.no = i.tenant
  WHERE t.name = p_tenant AND i.scope = p_scope AND i.key = p_key AND i.until > fn.time_of(p_now)
  FOR UPDATE OF i;
  IF NOT FOUND THEN RETURN NULL; END IF;
  IF x.fingerprint <> p_fingerprint THEN RETURN '["reused"]'; END IF;
  RETURN json_build_array('replayed', x.results::json, x.note);
END $$;

CREATE FUNCTION fn.write_record(
  p_now bigint, p_tenant int, p_scope text, p_key text, p_fingerprint text, p_keep bigint, p_note text, p_results text
) RETURNS void LANGUAGE sql AS $$
  INSERT INTO sluice.idem (tenant, scope, key, fingerprint, until, note, results)
  VALUES (p_tenant, p_scope, p_key, p_fingerprint, fn.time_of(p_now) + p_keep, p_note, p_results)
  ON CONFLICT (tenant, scope, key) DO UPDATE SET
    fingerprint = excluded.fingerprint, until = excluded.until, note = excluded.note, results = excluded.results
$$;

CREATE FUNCTION fn.remember(
  p_now bigint, p_tenant text, p_scope text, p_key text, p_fingerprint text, p_keep bigint, p_note text
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM fn.write_record(p_now, fn.add_tenant(p_tenant), p_scope, p_key, p_fingerprint, p_keep, p_note, NULL);
END $$;
`;
