import type { Kind } from './kinds.ts';

/** One setting, declared once: reading, faults, docs/settings.md and `sluice settings` all come from here. */
export interface Setting<V> {
  /** The variables that set it: the documented name, then the one that the reference implementation reads. */
  readonly names: readonly [string, ...string[]];
  readonly kind: Kind<V>;
  /** The value when no variable is set; null when it follows from other settings (see `derived.ts`). */
  readonly default: V;
  /** The default as docs/settings.md and `sluice settings` show it. */
  readonly defaultText: string;
  /** What it does, in whole sentences, and what the end of its range guards against. */
  readonly help: string;
  /** Its text never appears in a fault, a log or a dump. */
  readonly secret: boolean;
}

/** Settings that are shown under one heading, by the key they have in the record of settings. */
export interface SettingGroup {
  readonly title: string;
  /** One sentence about the settings of the group. */
  readonly introduction: string;
  readonly settings: Readonly<Record<string, Setting<unknown>>>;
}

interface Declaration<V> {
  readonly names: readonly [string, ...string[]];
  readonly kind: Kind<V>;
  readonly help: string;
  readonly secret?: boolean;
}

/** Declares a setting with a fixed default. */
export function setting<V>(declaration: Declaration<V> & { readonly default: NoInfer<V> }): Setting<V> {
  const defaultText = declaration.kind.write(declaration.default);
  return { secret: false, ...declaration, defaultText };
}

/** Declares a setting whose default follows from other settings; `default` says how, `derived.ts` does it. */
export function derivedSetting<V>(
  declaration: Declaration<V> & { readonly default: string },
): Setting<V | null> {
  return { secret: false, ...declaration, default: null, defaultText: declaration.default };
}
