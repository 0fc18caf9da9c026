/** The code of a failed system call (`ENOENT`), or the text of any other failure. */
export function systemCode(failure: unknown): string {
  if (failure instanceof Error && 'code' in failure && typeof failure.code === 'string') return failure.code;
  return String(failure);
}
