/** One HTTP answer but for its body. */
export interface AnswerHead {
  /** Code and reason, such as `200 OK`. */
  readonly status: string;
  /** Empty for an answer without a body. */
  readonly contentType: string;
  /** Further header fields. `Content-Length`, `Date` and `Connection` are added when it is written. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** One HTTP answer, complete. */
export interface Answer extends AnswerHead {
  /** Text goes out as UTF-8. Bytes need to stay valid only until the call that hands them over returns. */
  readonly body: string | Uint8Array;
  /** The bytes do not change any more, so a large body is sent without a copy. */
  readonly lasting?: true;
}

const PLAIN_TEXT = 'text/plain; charset=utf-8';

/** A page of plain text that is made while it is sent. */
export const TEXT_PAGE: AnswerHead = { status: '200 OK', contentType: PLAIN_TEXT };

/** A page of plain text. */
export function textAnswer(body: string, status = '200 OK'): Answer {
  return { status, contentType: PLAIN_TEXT, body };
}

/** Returns the body as bytes that do not change while they are sent. */
export function lastingBytes({ body, lasting }: Answer): Uint8Array {
  return lasting === true && typeof body !== 'string' ? body : Buffer.from(body);
}
