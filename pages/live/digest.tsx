/** Number of digits that tell apart the rules that an operator compares. */
const SHOWN_DIGITS = 8;

/** The beginning of the digest of rules, with all of it as a tip. */
export function Digest({ digest }: { readonly digest: string }) {
  return <code title={`Digest of the rules: ${digest}`}>{digest.slice(0, SHOWN_DIGITS)}</code>;
}
