/**
 * What a rule source stumbled over.
 *
 * - `directory`: it is missing, is no directory, or may not be read
 * - `file`: a rule file is no regular file or may not be read
 * - `bound`: there is more than the source takes in
 * - `unsettled`: what was listed was gone or had changed when it was read; reading again helps
 */
type RuleSourceProblem = 'directory' | 'file' | 'bound' | 'unsettled';

/** Rule files could not be had from where they are kept. The message says what, where, and what to do. */
export class RuleSourceFault extends Error {
  readonly problem: RuleSourceProblem;

  constructor(problem: RuleSourceProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'RuleSourceFault';
    this.problem = problem;
  }
}
