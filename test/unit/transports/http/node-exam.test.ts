import t from 'tap';
import { httpServerExam } from '../../../exam/http-server/exam.ts';
import { NODE_DEPARTURES } from '../../../exam/http-server/node-departures.ts';
import { HTTP_ENGINES } from '../../../support/http-engine.ts';

httpServerExam(t, HTTP_ENGINES.node, NODE_DEPARTURES);
