import type { UnaryMethod, UnaryReply } from '../../src/grpc/service.ts';

/** Calls a unary method without a server and keeps what it answers. */
export class MethodCall {
  answer: { response: Buffer } | { status: number; message: string } | null = null;

  constructor(method: UnaryMethod, request: Uint8Array = Buffer.alloc(0)) {
    const settle = (answer: NonNullable<MethodCall['answer']>): void => {
      if (this.answer !== null) throw new Error('the method answered twice');
      this.answer = answer;
    };
    const reply: UnaryReply = {
      done: false,
      header: () => '',
      send: response => settle({ response: Buffer.from(response) }),
      fail: (status, message) => settle({ status, message }),
    };
    method(request, reply);
  }
}
