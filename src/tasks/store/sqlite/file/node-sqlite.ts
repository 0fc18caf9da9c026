import type * as Sqlite from 'node:sqlite';

let loaded: typeof Sqlite | null = null;

/**
 * The module of the runtime. It says with a warning that it is experimental, once for each thread: that is not for the
 * operators of this program, so this one warning is left out, and no other.
 */
export function nodeSqlite(): typeof Sqlite {
  loaded ??= withoutItsWarning(() => process.getBuiltinModule('node:sqlite'));
  return loaded;
}

/** The warning comes while the module is loaded, which happens within `load`. */
function withoutItsWarning<T>(load: () => T): T {
  const emitWarning = process.emitWarning;
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    if (rest[0] === 'ExperimentalWarning' && /SQLite/.test(String(warning))) return;
    Reflect.apply(emitWarning, process, [warning, ...rest]);
  }) as typeof process.emitWarning;
  try {
    return load();
  } finally {
    process.emitWarning = emitWarning;
  }
}
