import { invalidParameter } from './page.ts';
import type { Call } from './route.ts';

/**
 * A query parameter that is `true` or `false`; false when it is left out.
 *
 * @throws Problem invalid_parameter
 */
export function readFlag(call: Pick<Call, 'query'>, name: string): boolean {
  const text = call.query[name];
  if (text === undefined || text === '' || text === 'false') return false;
  if (text === 'true') return true;
  throw invalidParameter(name, `${name} is true or false`);
}
