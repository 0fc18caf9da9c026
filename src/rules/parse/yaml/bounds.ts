/** Maximum size of a rule file, in bytes: about 600 000 rules in block form. */
export const MAX_FILE_BYTES = 64 * 1024 * 1024;

/**
 * Maximum number of tokens for the complete YAML reader: slightly more than 100 000 ordinary rules, which take about 8 s
 * and 0.7 GB. Larger files must use the subset of YAML that the fast reader knows.
 */
export const MAX_FULL_YAML_TOKENS = 4_000_000;

/**
 * Maximum nesting of maps and lists in a file, aliases included: the readers and the checks are recursive. A level of
 * entries takes two levels, which leaves room for metadata in the deepest entry. The stack of a thread holds several
 * times as many.
 */
export const MAX_YAML_DEPTH = 600;

/** Maximum number of values in one file for the fast reader: 64 MiB of very short values would not fit into memory. */
export const MAX_YAML_NODES = 8_000_000;

/** Maximum number of values in a file with aliases, each alias counted as if it were written out. */
export const MAX_EXPANDED_NODES = 4_000_000;

/**
 * Maximum fraction of values that come from aliases, by the number of values so far. These are the limits of the YAML
 * library of envoyproxy/ratelimit, so both reject the same files.
 */
export function allowedAliasShare(values: number): number {
  const few = 400_000;
  const many = 4_000_000;
  if (values <= few) return 0.99;
  return values >= many ? 0.1 : 0.99 - (0.89 * (values - few)) / (many - few);
}

/** Maximum nesting of entries: the maximum number of entries in a descriptor of a request. */
export const MAX_ENTRY_LEVELS = 256;

/** Maximum number of entries in all files of one load. */
export const MAX_ENTRIES = 1_000_000;

/**
 * Maximum number of rows of statistics for classes, for the hits that pass after a limit and for leases, in all files of one
 * load. A row takes about 100 bytes.
 */
export const MAX_EXTRA_ROWS = 1_000_000;

/** Maximum total length of the full names of all entries. A full name contains the names of the levels above. */
export const MAX_NAME_CHARACTERS = 512 * 1024 * 1024;
