import { syncBuiltinESMExports } from 'node:module';
import type { Test } from 'tap';

/**
 * Puts `wrap(original)` in the place of a function of a built-in module, for code that imported it by name too,
 * until the test ends. Meant to run something at an exact moment around the real call, not to replace it.
 */
export function wrapBuiltin<M extends object, K extends keyof M>(
  t: Test,
  module: M,
  name: K,
  wrap: (original: M[K]) => M[K],
): void {
  const original = module[name];
  module[name] = wrap(original);
  syncBuiltinESMExports();
  t.teardown(() => {
    module[name] = original;
    syncBuiltinESMExports();
  });
}
