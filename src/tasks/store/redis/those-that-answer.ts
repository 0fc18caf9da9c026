/**
 * The answers of those that answer, in order: a node of a cluster may be away, and what the others know is of use
 * without it.
 *
 * @param failures what the others failed with is added to these
 */
export async function thoseThatAnswer<T>(asked: readonly Promise<T>[], failures: unknown[]): Promise<T[]> {
  const answers: T[] = [];
  for (const answer of await Promise.allSettled(asked)) {
    if (answer.status === 'fulfilled') answers.push(answer.value);
    else failures.push(answer.reason);
  }
  return answers;
}
