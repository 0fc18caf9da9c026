/** Largest rule file, in bytes: about 600 000 rules in block form. */
export const MAX_FILE_BYTES = 64 * 1024 * 1024;

/**
 * Most tokens that the complete YAML reader takes: a little more than 100 000 ordinary rules, which need some 8 s and
 * 0.7 GB. Larger files have to keep to the form that the fast reader knows.
 */
export const MAX_FULL_YAML_TOKENS = 4_000_000;

/** Deepest nesting of maps and lists in a file, aliases included: the readers and the checks call themselves. */
export const MAX_YAML_DEPTH = 128;

/** Most values that the fast reader takes from one file: 64 MiB of shorter ones would not fit into memory. */
export const MAX_YAML_NODES = 8_000_000;

/** Most values that a file with aliases may stand for, each alias counted as if it were written out. */
export const MAX_EXPANDED_NODES = 4_000_000;

/** Most levels of nested entries. A request never has that many pairs in one descriptor. */
export const MAX_ENTRY_LEVELS = 32;

/** Most entries in all files of one load. */
export const MAX_ENTRIES = 1_000_000;
