import type { UnaryMethod, UnaryReply } from '../../src/grpc/service.ts';

/** Calls a unary method without a server and keeps what it answers. */
export class MethodCall {
  answer: { response: Buffer } | { status: number; message: string } | null = null;

  /** @param headers header fields of the call, by their names in lower case */
  constructor(
    method: UnaryMethod,
    request: Uint8Array = Buffer.alloc(0),
    headers: Readonly<Record<string, string>> = {},
  ) {
    const settle = (answer: NonNullable<MethodCall['answer']>): void => {
      if (this.answer !== null) throw new Error('the method answered twice');
      this.answer = answer;
    };
    const reply: UnaryReply = {
      peer: '10.1.2.3',
      done: false,
      header: name => headers[name] ?? '',
      send: response => settle({ response: Buffer.from(response) }),
      fail: (status, message) => settle({ status, message }),
    };
    method(request, reply);
  }
}
