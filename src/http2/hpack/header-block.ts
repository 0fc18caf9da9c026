/**
 * The header list of one decoded block. It does not change and may be kept, also when the same bytes come again: then
 * the decoder returns the same object, so what one reader learned of it the next need not find out again.
 */
export class HeaderBlock {
  /** Names in the order of the block. A character is one octet: nothing has been checked or lowered in case. */
  readonly names: readonly string[];
  /** `values[i]` belongs to `names[i]`. A character is one octet. */
  readonly values: readonly string[];
  /** Size of the whole list in octets, by the rule of SETTINGS_MAX_HEADER_LIST_SIZE (RFC 9113, 6.5.2). */
  readonly listBytes: number;
  /** The list went beyond a limit of the decoder: `names` and `values` hold only what came before that. */
  readonly tooLarge: boolean;
  /**
   * The one thing that may be written: whoever validates header lists keeps the result here, of whatever type, and
   * finds it again when the block repeats. It must follow from names and values alone. `undefined` at first.
   */
  verdict: unknown = undefined;

  constructor(fields: Omit<HeaderBlock, 'verdict'>) {
    this.names = fields.names;
    this.values = fields.values;
    this.listBytes = fields.listBytes;
    this.tooLarge = fields.tooLarge;
  }
}
