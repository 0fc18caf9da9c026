import { trailersOnlyBlock } from './blocks.ts';
import type { MessageFault } from './message-reader.ts';
import { GRPC_STATUS, type GrpcStatus } from './service.ts';

/** How a call ends whose content cannot be read. */
export interface Refusal {
  readonly status: GrpcStatus;
  readonly message: string;
  /** The status and the message as a whole response. */
  readonly block: Uint8Array;
}

function refusal(status: GrpcStatus, message: string): Refusal {
  return { status, message, block: trailersOnlyBlock(status, message) };
}

/** Refusals of content that is not what the method expects: one message, or a stream of messages. */
export const MESSAGE_REFUSALS: Readonly<Record<MessageFault, Refusal>> = {
  compressed: refusal(GRPC_STATUS.internal, 'the message is compressed, but the call has no grpc-encoding'),
  'not gzip': refusal(GRPC_STATUS.internal, 'grpc-encoding is gzip, but the message is not valid gzip'),
  'too much inflated': refusal(
    GRPC_STATUS.resourceExhausted,
    'the server has received too many messages that are much larger than their compressed size; try again later',
  ),
  'bad flag': refusal(GRPC_STATUS.internal, 'the compressed flag of the message is neither 0 nor 1'),
  'too large': refusal(
    GRPC_STATUS.resourceExhausted,
    'the request message exceeds the size limit of the server',
  ),
  none: refusal(
    GRPC_STATUS.unimplemented,
    'the method expects one request message, but the request has none',
  ),
  incomplete: refusal(GRPC_STATUS.internal, 'the request ended before its message was complete'),
  'more than one': refusal(
    GRPC_STATUS.unimplemented,
    'the method expects one request message, but the request has more',
  ),
  'no room': refusal(
    GRPC_STATUS.resourceExhausted,
    'the server holds too many unfinished requests; try again later',
  ),
};

export const TOO_MANY_ABANDONED = refusal(
  GRPC_STATUS.resourceExhausted,
  'too many canceled or expired calls of this connection are still running; try again later',
);
