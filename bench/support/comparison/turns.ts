/**
 * The order of a round: forwards in the first, backwards in the second, and so on. A machine that becomes slower during
 * a round then favors no place in it.
 *
 * @param round from 1
 */
export function inTurns<T>(all: readonly T[], round: number): readonly T[] {
  return round % 2 === 1 ? all : all.toReversed();
}
