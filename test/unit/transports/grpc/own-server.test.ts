import t from 'tap';
import { OwnGrpcServer } from '../../../../src/transports/grpc/own-server.ts';
import { grpcServerExam } from '../../../exam/grpc-server.ts';

grpcServerExam(t, options => new OwnGrpcServer(options));
