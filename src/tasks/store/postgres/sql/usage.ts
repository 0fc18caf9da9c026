import { MAX_USAGE_WORKERS, USAGE_SPANS } from '../../../model/usage.ts';
import { DOCUMENT } from '../../codes.ts';
import { LOCK } from './locks.ts';

const SPANS = Object.values(USAGE_SPANS);
const SPAN_ROWS = SPANS.map(({ ms, keepMs }) => `(${ms}, ${keepMs})`).join(', ');

/** Functions for the usage of tenants. Worker 0 stands for all workers of a tenant. */
export const USAGE = `
CREATE TYPE fn.increment AS (at bigint, worker text, figures bigint[]);

-- An account that is being deleted has a field for it, whose name cannot be part of a text without a backslash before.
CREATE FUNCTION fn.add_usage(p_time bigint, p_tenant text, p_increments json) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := fn.time_of(p_time);
  v_tenant int;
  x record;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(${LOCK.tenant}, hashtext(p_tenant));
  SELECT d.tenant INTO v_tenant FROM sluice.doc d JOIN sluice.tenant t ON t.no = d.tenant
  WHERE t.name = p_tenant AND d.kind = ${DOCUMENT.account} AND position('"deletion":' IN d.body) = 0;
  IF NOT FOUND THEN RETURN; END IF;
  FOR x IN
    SELECT i.at - i.at % s.ms AS at, s.ms, CASE WHEN i.worker IS NULL THEN 0 ELSE w.no END AS worker, i.figures
    FROM json_populate_recordset(NULL::fn.increment, p_increments) AS i
    CROSS JOIN (VALUES ${SPAN_ROWS}) AS s (ms, keep)
    LEFT JOIN sluice.worker w ON w.tenant = v_tenant AND w.id = i.worker
    WHERE (i.worker IS NULL OR w.no IS NOT NULL) AND i.at - i.at % s.ms + s.ms + s.keep > v_now
    ORDER BY s.ms, 1, 3
  LOOP
    PERFORM fn.add_figures(v_tenant, x.ms, x.at, x.worker, x.figures);
  END LOOP;
END $$;

-- The figures of a further worker are left out if ${MAX_USAGE_WORKERS} have some; one of the rows is that of the tenant.
CREATE FUNCTION fn.add_figures(p_tenant int, p_span int, p_at bigint, p_worker int, p_figures bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF p_worker <> 0 AND NOT EXISTS (
    SELECT FROM sluice.usage WHERE tenant = p_tenant AND span = p_span AND at = p_at AND worker = p_worker
  ) AND (
    SELECT count(*) FROM sluice.usage WHERE tenant = p_tenant AND span = p_span AND at = p_at AND worker <> 0
  ) >= ${MAX_USAGE_WORKERS} THEN RETURN; END IF;
  INSERT INTO sluice.usage AS u (tenant, span, at, worker, figures)
  VALUES (p_tenant, p_span, p_at, p_worker, p_figures)
  ON CONFLICT (tenant, span, at, worker) DO UPDATE SET figures = ARRAY(
    SELECT coalesce(f.a, 0) + coalesce(f.b, 0) FROM unnest(u.figures, excluded.figures) WITH ORDINALITY AS f (a, b, place)
    ORDER BY f.place
  );
END $$;

-- [start, figures]… of p_intervals intervals from p_from on.
CREATE FUNCTION fn.usage(p_time bigint, p_tenant text, p_worker text, p_span int, p_keep bigint, p_from bigint, p_intervals int)
RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := fn.time_of(p_time);
  v_tenant int := (SELECT no FROM sluice.tenant WHERE name = p_tenant);
  v_worker int := 0;
BEGIN
  IF p_worker IS NOT NULL THEN
    v_worker := (SELECT no FROM sluice.worker WHERE tenant = v_tenant AND id = p_worker);
  END IF;
  RETURN array_to_json(ARRAY(
    SELECT json_build_array(u.at, u.figures) FROM generate_series(0, p_intervals - 1) AS i
    JOIN sluice.usage u ON u.tenant = v_tenant AND u.span = p_span AND u.at = p_from + i::bigint * p_span AND u.worker = v_worker
    WHERE u.at + p_span + p_keep > v_now ORDER BY u.at
  ));
END $$;

CREATE FUNCTION fn.purge_usage(p_now bigint, p_tenant int, p_max int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  v_removed int;
BEGIN
  DELETE FROM sluice.usage WHERE ctid = ANY (ARRAY(
    SELECT x.id FROM (VALUES ${SPAN_ROWS}) AS s (ms, keep) CROSS JOIN LATERAL (
      SELECT ctid AS id FROM sluice.usage
      WHERE tenant = p_tenant AND span = s.ms AND at <= p_now - s.keep - s.ms ORDER BY at LIMIT p_max
    ) AS x LIMIT p_max
  ));
  GET DIAGNOSTICS v_removed = ROW_COUNT;
  RETURN v_removed;
END $$;

CREATE FUNCTION fn.forget_usage(p_tenant int, p_max int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  v_removed int;
BEGIN
  DELETE FROM sluice.usage WHERE ctid = ANY (ARRAY(SELECT ctid FROM sluice.usage WHERE tenant = p_tenant LIMIT p_max));
  GET DIAGNOSTICS v_removed = ROW_COUNT;
  RETURN v_removed;
END $$;
`;
