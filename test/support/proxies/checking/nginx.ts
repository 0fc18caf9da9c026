import type { Teardown } from '../../temp-directory.ts';
import type { Substitutions } from '../front.ts';
import { runNginx } from '../nginx.ts';
import { type Behind, forEach, timeouts, WEBSITE } from './behind.ts';

/** Starts ops/nginx/check-requests.conf. */
export async function startCheckingNginx(
  t: Teardown,
  behind: Behind,
  substitutions: Substitutions = [],
): Promise<string> {
  const [front] = await runNginx(
    t,
    'check-requests.conf',
    ['listen 80;'],
    [
      forEach(behind, 'server 127.0.0.1:8080 max_fails=1 fail_timeout=2s;', '\n    '),
      [WEBSITE, behind.website],
      ...timeouts(behind),
      ...substitutions,
    ],
  );
  return front;
}
