import { EVENT, STATUS } from '../../../codes.ts';

/** Functions for leases of running attempts. */
export const LEASES = `
-- [until, whether a cancel was requested]; null if the lease is lost. p_progress: the rest of the entry; null for none.
CREATE FUNCTION fn.extend(p_time bigint, p_tenant text, p_lease text, p_ms bigint, p_progress text, p_actor text)
RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  t sluice.task;
  v_now bigint;
BEGIN
  SELECT k.* INTO t FROM sluice.task k JOIN sluice.tenant n ON n.no = k.tenant
  WHERE k.lease = p_lease AND k.status + 0 = ${STATUS.running} AND n.name = p_tenant FOR NO KEY UPDATE OF k;
  IF NOT FOUND THEN RETURN NULL; END IF;
  v_now := fn.time_of(p_time);
  IF p_ms IS NOT NULL THEN t.lease_until := greatest(t.lease_until, least(v_now + p_ms, t.lease_cap)); END IF;
  IF p_progress IS NOT NULL THEN
    t.events := t.events + 1;
    PERFORM fn.add_entry(v_now, t, t.status, ROW(${EVENT.heartbeat_progress}, p_actor, NULL, NULL, nullif(p_progress, '{}')));
  END IF;
  UPDATE sluice.task SET lease_until = t.lease_until, events = t.events WHERE seq = t.seq;
  RETURN json_build_array(t.lease_until, t.cancel_at IS NOT NULL);
END $$;

-- The same for several leases, with the answers in their order.
CREATE TYPE fn.extension AS (lease text, ms bigint, progress text, actor text);
CREATE FUNCTION fn.extend_several(p_time bigint, p_tenant text, p_extensions json) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  x fn.extension;
  v_answers json[] := '{}';
BEGIN
  PERFORM 1 FROM sluice.task k WHERE k.lease = ANY (ARRAY(
    SELECT e.lease FROM json_populate_recordset(NULL::fn.extension, p_extensions) AS e
  )) ORDER BY k.seq FOR NO KEY UPDATE;
  FOR x IN SELECT * FROM json_populate_recordset(NULL::fn.extension, p_extensions) LOOP
    v_answers := v_answers || fn.extend(p_time, p_tenant, x.lease, x.ms, x.progress, x.actor);
  END LOOP;
  RETURN array_to_json(v_answers);
END $$;

CREATE FUNCTION fn.leased(p_tenant text, p_lease text) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  RETURN (
    SELECT fn.shown(k) FROM sluice.task k JOIN sluice.tenant n ON n.no = k.tenant
    WHERE k.lease = p_lease AND k.status + 0 = ${STATUS.running} AND n.name = p_tenant LIMIT 1
  );
END $$;

-- [tenant, lease, task]… The lease is null for a task that did not start in time.
CREATE FUNCTION fn.overdue(p_time bigint, p_max int) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := fn.time_of(p_time);
  v_leases sluice.task[];
  v_expired sluice.task[];
BEGIN
  v_leases := ARRAY(
    SELECT t FROM sluice.task t WHERE t.status = ${STATUS.running} AND t.lease_until <= v_now ORDER BY t.lease_until LIMIT p_max
  );
  v_expired := ARRAY(
    SELECT t FROM sluice.task t WHERE t.status IN (${STATUS.scheduled}, ${STATUS.retry}) AND t.expires_at <= v_now
    ORDER BY t.expires_at LIMIT p_max - cardinality(v_leases)
  );
  RETURN array_to_json(ARRAY(
    SELECT json_build_array(n.name, CASE WHEN u.status = ${STATUS.running} THEN u.lease END, fn.shown(u))
    FROM unnest(v_leases || v_expired) AS u JOIN sluice.tenant n ON n.no = u.tenant
  ));
END $$;
`;
