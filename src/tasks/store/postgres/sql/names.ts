import { LOCK } from './locks.ts';

/**
 * Functions of PostgreSQL that store and find the names of tenants and workers. `fn.` stands for the schema of the
 * functions (`layout/functions.ts`). Locks are taken in one order by all functions: the
 * advisory lock of the tenant, idempotency keys, documents, quota, keys, tasks, tasks that
 * are held, workers, groups, tenant, tallies. So they wait for each other, but never in a circle.
 *
 * A sum with 0 keeps PostgreSQL from using the indexes of a column. It prefers an index with a condition, such as that of
 * waiting tasks, if that was empty when it looked last, although the index may have become large.
 */
export const NAMES = `
CREATE FUNCTION fn.time_of(p_now bigint) RETURNS bigint LANGUAGE sql AS
$$ SELECT coalesce(p_now, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) $$;

-- The number of a tenant, for rows that refer to it. Its row stays until this transaction ends.
CREATE FUNCTION fn.add_tenant(p_name text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE v_no int;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(${LOCK.tenant}, hashtext(p_name));
  LOOP
    SELECT no INTO v_no FROM sluice.tenant WHERE name = p_name;
    IF FOUND THEN RETURN v_no; END IF;
    INSERT INTO sluice.tenant (name) VALUES (p_name) ON CONFLICT DO NOTHING RETURNING no INTO v_no;
    IF FOUND THEN RETURN v_no; END IF;
  END LOOP;
END $$;

CREATE FUNCTION fn.tenants(p_after text, p_limit int) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  RETURN array_to_json(ARRAY(SELECT name FROM sluice.tenant WHERE known AND name > p_after ORDER BY name LIMIT p_limit));
END $$;

CREATE FUNCTION fn.add_worker(p_tenant int, p_id text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE v_no int;
BEGIN
  LOOP
    SELECT no INTO v_no FROM sluice.worker WHERE tenant = p_tenant AND id = p_id;
    IF FOUND THEN RETURN v_no; END IF;
    INSERT INTO sluice.worker (tenant, id) VALUES (p_tenant, p_id) ON CONFLICT DO NOTHING RETURNING no INTO v_no;
    IF FOUND THEN RETURN v_no; END IF;
  END LOOP;
END $$;
`;
