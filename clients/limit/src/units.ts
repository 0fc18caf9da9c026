/** The names of units by their number, in requests and in answers. */
export const UNITS = ['UNKNOWN', 'SECOND', 'MINUTE', 'HOUR', 'DAY', 'MONTH', 'YEAR', 'WEEK'] as const;

export type Unit = (typeof UNITS)[number];
