import type { GrpcStatus } from './service.ts';
import type { ReplyCall } from './stream-calls.ts';

/** The open calls of one kind with streams of responses, on one connection. They can be ended together. */
export class OpenStreams {
  readonly #calls = new Set<ReplyCall>();
  /** The status of calls that begin after {@link end}; null before. */
  #ended: { readonly status: GrpcStatus; readonly message: string } | null = null;

  /** Adds a call until it closes. After {@link end} the call ends instead, and this returns false. */
  open(call: ReplyCall): boolean {
    if (this.#ended !== null) {
      call.end(this.#ended.status, this.#ended.message);
      return false;
    }
    this.#calls.add(call);
    call.onClose(() => this.#calls.delete(call));
    return true;
  }

  /** Ends every open call, and all that are still to come. */
  end(status: GrpcStatus, message: string): void {
    this.#ended = { status, message };
    for (const call of [...this.#calls]) call.end(status, message);
  }
}
