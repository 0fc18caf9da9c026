/**
 * How much a pattern may ask for. Each bound is checked while the work is done, so a hostile pattern is refused within
 * milliseconds and with little memory. Patterns in practice stay far below all of them.
 */

/** Maximum number of UTF-16 code units of a pattern. It also bounds how deep groups nest. */
export const MAX_PATTERN_LENGTH = 1_000;

/** Maximum number of nodes and copies of a pattern when its counts, such as `{20}`, are written out. */
export const MAX_NODES = 5_000;

/** Maximum number of states of an automaton that reads characters. Over bytes, it may have more. */
export const MAX_STATES = 2_000;

/** Maximum number of steps to find the states: visits of nodes, and transitions of nodes. */
export const MAX_STEPS = 500_000;

/** Maximum number of transitions of all states together, before equal states are merged. */
export const MAX_TRANSITIONS = 200_000;

/** Maximum number of transitions of a finished automaton: 400 kB in the memory of the rules. */
export const MAX_FINAL_TRANSITIONS = 100_000;
