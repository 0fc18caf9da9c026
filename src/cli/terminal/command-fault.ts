/**
 * A command could not do what it was asked for. The text says why and what to do; `main` prints it and returns
 * the exit status for it, so commands only throw.
 */
export class CommandFault extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CommandFault';
  }
}

/** The arguments are wrong. The text names the argument and says what to write instead. */
export class UsageFault extends CommandFault {
  /** The command whose help says more, after `sluice`; null: the one that was called. */
  readonly command: string | null;

  constructor(message: string, command: string | null = null) {
    super(message);
    this.name = 'UsageFault';
    this.command = command;
  }
}
