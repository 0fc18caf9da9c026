import t from 'tap';
import { httpServerExam } from '../../../exam/http-server/exam.ts';
import { UWS_DEPARTURES } from '../../../exam/http-server/uws-departures.ts';
import { HTTP_ENGINES } from '../../../support/http-engine.ts';

httpServerExam(t, HTTP_ENGINES.uws, UWS_DEPARTURES);
