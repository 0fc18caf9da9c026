/** Where the lines of a push sink go. One flush at a time uses it. */
export interface LineOutput {
  /** For messages: `statsd at localhost:8125 (tcp)`. */
  readonly name: string;
  /** Begins to connect, where that is needed. Does not wait for it. */
  open(): void;
  /**
   * Gets ready for a flush.
   * @throws Error with the reason why nothing can be sent now
   */
  ready(): Promise<void>;
  /**
   * Hands over whole lines, and resolves when there is room for more.
   * @throws Error with the reason why they are lost, or some of them
   */
  write(lines: string): Promise<void>;
  /** Resolves when what was handed over has left. */
  end(): Promise<void>;
  /** Ends everything at once; a write that waits fails. Nothing can be sent after it. */
  close(): void;
}
