import { integer, type Kind } from './kinds.ts';

/**
 * Settings of the reference implementation and of the specification (spec 2.7) that this version does not read.
 *
 * Deployments that move here carry them along, so none may be ignored without a word: it is named in a warning.
 * Variables that only a library of the reference implementation reads (`OTEL_…`, `DD_…`, `GOSTATS_…`) are not among
 * them: processes have those for other reasons.
 */
export interface MissingSetting {
  /** The documented name, then the one of the reference implementation. */
  readonly names: readonly [string, ...string[]];
  /** True for a text that asks for nothing this version does not do. */
  readonly harmless: (text: string) => boolean;
}

/** Reads as the value that is the same as not setting it. */
function reads<V>(kind: Kind<V>, harmless: V): (text: string) => boolean {
  return text => {
    const reading = kind.read(text);
    return 'value' in reading && reading.value === harmless;
  };
}

const count = (value: number) => reads(integer({ max: Number.MAX_SAFE_INTEGER }), value);

type Environment = Readonly<Record<string, string | undefined>>;

function ofRedis(name: string, harmless: MissingSetting['harmless']): MissingSetting {
  return { names: [`KVCACHE_${name}`, `REDIS_${name}`], harmless };
}

/** In the order of the documents. A setting that comes to be read leaves this list. */
export const MISSING_SETTINGS: readonly MissingSetting[] = [
  ofRedis('PIPELINE_LIMIT', count(0)),
  ofRedis('PERSECOND_PIPELINE_LIMIT', count(0)),
];

/** The variables that are set, are not read, and change nothing that a caller would notice. */
export function unreadVariables(env: Environment): string[] {
  return MISSING_SETTINGS.flatMap(({ names, harmless }) =>
    names.filter(variable => {
      const text = env[variable];
      return text !== undefined && !harmless(text);
    }),
  );
}
