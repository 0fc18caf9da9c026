/**
 * The form of texts that stores look up or count by. It excludes control characters, and lone surrogates, because not every
 * store can keep them: PostgreSQL rejects U+0000, and SQLite ends a text there.
 */
export const PLAIN_TEXT = {
  pattern: /^[^\p{Cc}\p{Cs}]*$/u,
  accepts: 'not contain control characters',
} as const;
