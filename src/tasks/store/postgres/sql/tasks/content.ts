import { OWN_FIELDS } from '../../../../model/task-content.ts';

const OTHER_OWN = OWN_FIELDS.filter(name => name !== 'type');
/** Names of the fields of a patch, as histories have them, by the column of the task. */
const COLUMNS: readonly (readonly [column: string, name: string])[] = [
  ['band', 'priority'],
  ['run_at', 'run_at'],
  ['expires_at', 'expires_at'],
  ['timeout', 'timeout'],
];

function differs(column: string, name: string): string {
  return `
  IF '${name}' = ANY (p.given) AND p.${column} IS DISTINCT FROM t.${column} THEN
    t.${column} := p.${column};
    changed := changed || '${name}'::text;
  END IF;`;
}

/**
 * Functions that change the content of a task. A patch names the fields that it gives (`given`), as histories name them.
 * Texts have the form of the columns, so that equal content has equal text. Delays (`run_in`, `expires_in`) count from now.
 */
export const CONTENT = `
CREATE TYPE fn.patch AS (
  given text[], band smallint, run_at bigint, run_in bigint, expires_at bigint, expires_in bigint, timeout bigint,
  max_attempts int, retry text, payload text, headers text, ${OWN_FIELDS.map(name => `${name} text`).join(', ')}
);

-- Applies a patch to the task, except for its body, and returns the names of the fields that differ, also of the body.
-- p_runs: the task is running, and of its retry policy only the number of attempts changes.
CREATE FUNCTION fn.edit(p_now bigint, INOUT t sluice.task, p fn.patch, p_runs boolean, OUT changed text[])
LANGUAGE plpgsql AS $$
DECLARE
  v_payload text;
  v_headers text;
BEGIN
  changed := '{}';
  p.run_at := coalesce(p.run_at, p_now + p.run_in);
  p.expires_at := coalesce(p.expires_at, p_now + p.expires_in);
  ${differs('type', 'type')}
  IF p.given && '{payload,headers}' THEN
    SELECT payload, headers INTO v_payload, v_headers FROM sluice.body WHERE seq = t.seq;
    IF 'payload' = ANY (p.given) AND p.payload IS DISTINCT FROM v_payload THEN
      changed := changed || 'payload'::text;
    END IF;
    IF 'headers' = ANY (p.given) AND p.headers IS DISTINCT FROM v_headers THEN
      changed := changed || 'headers'::text;
    END IF;
  END IF;
  ${COLUMNS.map(([column, name]) => differs(column, name)).join('')}
  IF p_runs THEN p.retry := t.retry; END IF;
  IF 'retry' = ANY (p.given) AND (p.max_attempts <> t.max_attempts OR p.retry <> t.retry) THEN
    t.max_attempts := p.max_attempts;
    t.retry := p.retry;
    changed := changed || 'retry'::text;
  END IF;
  ${OTHER_OWN.map(name => differs(name, name)).join('')}
END $$;

CREATE FUNCTION fn.edit_body(p_seq bigint, p fn.patch, p_changed text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF p_changed && '{payload,headers}' THEN
    UPDATE sluice.body SET
      payload = CASE WHEN 'payload' = ANY (p_changed) THEN p.payload ELSE payload END,
      headers = CASE WHEN 'headers' = ANY (p_changed) THEN p.headers ELSE headers END
    WHERE seq = p_seq;
  END IF;
END $$;

-- The rest of an entry that names changed fields; null without any.
CREATE FUNCTION fn.changed_text(p_changed text[]) RETURNS text LANGUAGE sql AS
$$ SELECT CASE WHEN cardinality(p_changed) > 0 THEN json_build_object('changed', p_changed)::text END $$;
`;
