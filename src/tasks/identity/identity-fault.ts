/**
 * - `invalid`: the token is not accepted
 * - `expired`: it was valid
 * - `unavailable`: the keys of the identity provider are not known, so nothing can be said about the token
 */
type IdentityFaultCode = 'invalid' | 'expired' | 'unavailable';

/** Why a JSON Web Token does not log in. The message is for the caller and contains nothing of the token. */
export class IdentityFault extends Error {
  readonly code: IdentityFaultCode;

  constructor(code: IdentityFaultCode, message: string) {
    super(message);
    this.name = 'IdentityFault';
    this.code = code;
  }
}
