import { USAGE_SPANS } from '../../../model/usage.ts';
import { STATUS } from '../../codes.ts';

/** Each span of usage, with the time after the start of an interval at which it is over. */
const SPANS = Object.values(USAGE_SPANS)
  .map(({ ms, keepMs }) => `(${ms}, ${ms + keepMs}::bigint)`)
  .join(', ');

const WAITS = `status IN (${STATUS.scheduled}, ${STATUS.retry})`;

/** Functions that say when there will be something to do, for all tenants. */
export const LOOKOUT = `
-- [now, first hint, first end of a lease or expiry, first due document]
CREATE FUNCTION fn.look(p_time bigint) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  RETURN json_build_array(
    fn.time_of(p_time),
    (SELECT at FROM sluice.wake ORDER BY at LIMIT 1),
    least(
      (SELECT lease_until FROM sluice.task WHERE status = ${STATUS.running} ORDER BY lease_until LIMIT 1),
      (SELECT expires_at FROM sluice.task WHERE ${WAITS} AND expires_at IS NOT NULL ORDER BY expires_at LIMIT 1)
    ),
    (SELECT due_at FROM sluice.doc WHERE due_at IS NOT NULL ORDER BY due_at, no LIMIT 1)
  );
END $$;

-- The same. Writes as well, so that it fails when nothing can be written: that these functions are in use.
CREATE FUNCTION fn.ping(p_time bigint, p_functions text) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  UPDATE sluice.version SET used_at = now() WHERE functions = p_functions;
  RETURN fn.look(p_time);
END $$;

-- When a process last called fn.ping.
CREATE FUNCTION fn.last_use() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  RETURN (SELECT floor(extract(epoch FROM max(used_at)) * 1000) FROM sluice.version);
END $$;

-- [tenant, end of the oldest succeeded task, end of the oldest other one, when something else is over]… of p_limit tenants, by
-- their names from p_from on.
CREATE FUNCTION fn.oldest(p_from text, p_limit int) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  RETURN array_to_json(ARRAY(
    SELECT json_build_array(t.name, s.at, o.at, least(k.at, i.at, u.at))
    FROM (SELECT no, name FROM sluice.tenant WHERE name >= p_from ORDER BY name LIMIT p_limit) AS t
    LEFT JOIN LATERAL (
      SELECT finished_at AS at FROM sluice.task
      WHERE tenant = t.no AND status = ${STATUS.succeeded} ORDER BY finished_at LIMIT 1
    ) AS s ON true
    LEFT JOIN LATERAL (
      SELECT min(x.at) AS at FROM unnest('{${STATUS.failed},${STATUS.canceled},${STATUS.expired}}'::smallint[]) AS f (status)
      CROSS JOIN LATERAL (
        SELECT finished_at AS at FROM sluice.task
        WHERE tenant = t.no AND status = f.status AND status >= ${STATUS.succeeded} ORDER BY finished_at LIMIT 1
      ) AS x
    ) AS o ON true
    LEFT JOIN LATERAL (
      SELECT free_at AS at FROM sluice.task_key WHERE tenant = t.no AND free_at IS NOT NULL ORDER BY free_at LIMIT 1
    ) AS k ON true
    LEFT JOIN LATERAL (
      SELECT until AS at FROM sluice.idem WHERE tenant = t.no ORDER BY until LIMIT 1
    ) AS i ON true
    LEFT JOIN LATERAL (
      SELECT min(x.at + y.keep) AS at FROM (VALUES ${SPANS}) AS y (span, keep)
      CROSS JOIN LATERAL (
        SELECT at FROM sluice.usage WHERE tenant = t.no AND span = y.span ORDER BY at LIMIT 1
      ) AS x
    ) AS u ON true
  ));
END $$;
`;
