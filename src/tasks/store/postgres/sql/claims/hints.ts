/**
 * Functions for the hints of workers. A claim removes the hints that it sees before it looks for tasks. A task that is created
 * meanwhile may not be seen by the claim, so its transaction locks a hint or adds one: a claim leaves locked hints alone.
 */
export const HINTS = `
CREATE FUNCTION fn.lower_hint(p_tenant int, p_worker int, p_at bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM sluice.wake WHERE worker = p_worker AND at + 0 <= p_at LIMIT 1 FOR KEY SHARE SKIP LOCKED;
  IF NOT FOUND THEN
    INSERT INTO sluice.wake (tenant, worker, at) VALUES (p_tenant, p_worker, p_at);
  END IF;
END $$;

CREATE FUNCTION fn.remove_hints(p_worker int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM sluice.wake WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM sluice.wake WHERE worker = p_worker FOR UPDATE SKIP LOCKED
  ));
END $$;

CREATE FUNCTION fn.add_hint(p_tenant int, p_worker int, p_at bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF p_at IS NOT NULL THEN INSERT INTO sluice.wake (tenant, worker, at) VALUES (p_tenant, p_worker, p_at); END IF;
END $$;

CREATE FUNCTION fn.set_wakeup(p_now bigint, p_tenant text, p_worker text, p_at bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_tenant int;
  v_worker int;
BEGIN
  IF p_at IS NULL THEN
    SELECT w.tenant, w.no INTO v_tenant, v_worker
    FROM sluice.worker w JOIN sluice.tenant t ON t.no = w.tenant WHERE t.name = p_tenant AND w.id = p_worker;
    IF NOT FOUND THEN RETURN; END IF;
  ELSE
    v_tenant := fn.add_tenant(p_tenant);
    v_worker := fn.add_worker(v_tenant, p_worker);
  END IF;
  PERFORM fn.remove_hints(v_worker);
  PERFORM fn.add_hint(v_tenant, v_worker, p_at);
END $$;

CREATE FUNCTION fn.wakeups(p_until bigint, p_max int) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  RETURN (
    SELECT json_agg(json_build_array(t.name, w.id, x.at) ORDER BY x.at)
    FROM (
      SELECT tenant, worker, min(at) AS at FROM sluice.wake WHERE at <= p_until
      GROUP BY tenant, worker ORDER BY min(at) LIMIT p_max
    ) AS x
    JOIN sluice.tenant t ON t.no = x.tenant JOIN sluice.worker w ON w.no = x.worker
  );
END $$;
`;
