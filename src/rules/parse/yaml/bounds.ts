/** Largest rule file, in bytes: about 600 000 rules in block form. */
export const MAX_FILE_BYTES = 64 * 1024 * 1024;

/**
 * Most tokens that the complete YAML reader takes: a little more than 100 000 ordinary rules, which need some 8 s and
 * 0.7 GB. Larger files have to keep to the form that the fast reader knows.
 */
export const MAX_FULL_YAML_TOKENS = 4_000_000;

/**
 * Deepest nesting of maps and lists in a file, aliases included: the readers and the checks call themselves. A level of
 * entries takes two, and metadata of the deepest entry has some left. The stack of a thread holds several times as many.
 */
export const MAX_YAML_DEPTH = 600;

/** Most values that the fast reader takes from one file: 64 MiB of shorter ones would not fit into memory. */
export const MAX_YAML_NODES = 8_000_000;

/** Most values that a file with aliases may stand for, each alias counted as if it were written out. */
export const MAX_EXPANDED_NODES = 4_000_000;

/**
 * The largest share of a file's values that aliases may stand for, by the number of values up to there: the bounds of
 * the reference implementation's YAML library, which refuses the same files.
 */
export function allowedAliasShare(values: number): number {
  const few = 400_000;
  const many = 4_000_000;
  if (values <= few) return 0.99;
  return values >= many ? 0.1 : 0.99 - (0.89 * (values - few)) / (many - few);
}

/** Most levels of nested entries: as many as a descriptor of a request may have entries. */
export const MAX_ENTRY_LEVELS = 256;

/** Most entries in all files of one load. */
export const MAX_ENTRIES = 1_000_000;

/** Most characters in the full names of all entries of one load: each name holds those of the levels above it. */
export const MAX_NAME_CHARACTERS = 512 * 1024 * 1024;
