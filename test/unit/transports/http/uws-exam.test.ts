import t from 'tap';
import { UWS_ENGINE } from '../../../../src/transports/http/uws/uws-server.ts';
import { httpServerExam } from '../../../exam/http-server/exam.ts';
import { UWS_DEPARTURES } from '../../../exam/http-server/uws-departures.ts';

httpServerExam(t, UWS_ENGINE, UWS_DEPARTURES);
