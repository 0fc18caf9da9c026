import { type Clock, SECOND_MS } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import { readSecret } from '../../base/files/auth-file.ts';
import type { Logger } from '../../base/logger.ts';
import type { Settings } from '../../settings/table.ts';
import type { ReadAdminToken } from '../../transports/debug/operator/authorization.ts';

const TOKEN = /^[\x21-\x7e]{16,512}$/;
const CONTENT = 'one token of 16 to 512 printable characters without spaces';

/** The token of `ADMIN_TOKEN` or `ADMIN_TOKEN_FILE`. The file is read again at most once per second. */
export function adminToken(settings: Settings, clock: Clock): ReadAdminToken {
  const { adminToken, adminTokenFile } = settings;
  if (adminTokenFile === '') return async () => (adminToken === '' ? null : adminToken);
  let read: Promise<string> | null = null;
  let untilMs = 0;
  return () => {
    const nowMs = clock.nowMs();
    if (read === null || nowMs >= untilMs || nowMs < untilMs - SECOND_MS) {
      read = readToken(adminTokenFile);
      untilMs = nowMs + SECOND_MS;
    }
    return read;
  };
}

/** Logs an error at the start if the token cannot be read: the operator should not learn it only with the first change. */
export async function reportUnreadableToken(token: ReadAdminToken, logger: Logger): Promise<void> {
  try {
    await token();
  } catch (thrown) {
    const error = asError(thrown).message;
    logger.error("Changes through the operator's API are refused until its token can be read", { error });
  }
}

/** @throws Error that names the setting and the file, but never quotes the content */
async function readToken(path: string): Promise<string> {
  const text = (await readSecret(path, 'ADMIN_TOKEN_FILE', CONTENT)).trim();
  if (TOKEN.test(text)) return text;
  throw new Error(`ADMIN_TOKEN_FILE: '${path}' must hold ${CONTENT}`);
}
