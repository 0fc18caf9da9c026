/**
 * A header block that breaks a rule of HPACK. Whatever the rule, it is a connection error of type COMPRESSION_ERROR
 * (RFC 9113, 4.3): the tables of the two ends may differ from here on, so no later block can be trusted.
 *
 * The text says what was found, at which octet of the block and against which section of RFC 7541. It never holds
 * octets of names or values, which may be secret.
 */
export class HpackFault extends Error {
  /** The section of RFC 7541 that was broken, such as `5.1`. */
  readonly section: string;

  constructor(section: string, message: string, offset: number) {
    super(`${message}, at octet ${offset} of the header block (RFC 7541, ${section})`);
    this.name = 'HpackFault';
    this.section = section;
  }
}
