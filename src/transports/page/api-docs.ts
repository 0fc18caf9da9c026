import { PROBLEMS, type ProblemCode, problemType } from '../../tasks/rest/checks/problem-list.ts';
import { type Answer, textAnswer } from '../http/answer.ts';
import type { Handler, Route } from '../http/routes.ts';
import { acceptsHtml, forBrowsers, PageRoutes } from './page-routes.ts';

/** Where browsers get the documentation of the REST interface for tasks. */
const DOCS = '/api/docs';
/** Where it explains problems. */
const PROBLEM_PAGES = `${DOCS}/problems`;
/** The `type` of a problem begins with it. */
const TYPES = '/errors';

const CODES = Object.keys(PROBLEMS) as ProblemCode[];

/** For programs that request the documentation. */
const TEXT = forPrograms(
  [
    'The documentation of the REST interface; open it in a browser. For programs:',
    '  /api/v1/openapi.json   every call, field, error and example, and what receivers get (OpenAPI 3.1)',
    '  /errors                all problem codes',
    '  /errors/CODE           what a problem means and what to do; JSON with Accept: application/json',
    '',
  ].join('\n'),
);

/** The text at an address where browsers get a page. */
function forPrograms(text: string): Answer {
  return { ...textAnswer(text), headers: { Vary: 'Accept' } };
}

const UNKNOWN_CODE = 'There is no such problem code. /errors lists all codes.';
const UNKNOWN_PAGE = textAnswer(
  'There is no such page. /api/docs is the documentation of the REST interface.\n',
  '404 Not Found',
);

/** Whether there is a page for a path. Whether an operation or a receiver exists, only the page knows. */
function isPage(path: string): boolean {
  for (const folder of [`${PROBLEM_PAGES}/`, `${TYPES}/`])
    if (path.startsWith(folder)) return CODES.some(code => path === folder + code);
  return (
    path === TYPES ||
    [DOCS, `${DOCS}/`, PROBLEM_PAGES].includes(path) ||
    /^\/api\/docs\/(?:operations|receivers)\//.test(path)
  );
}

/**
 * The routes of the documentation of the REST interface for tasks: a page for browsers, which reads
 * `/api/v1/openapi.json`, and the addresses that the `type` of problems names.
 */
export function apiDocsRoutes(): readonly Route[] {
  const page = new PageRoutes('docs');
  const known = page.documentOr((exchange, request) => {
    if (request.path.startsWith(PROBLEM_PAGES)) answerProblem(exchange, request);
    else exchange.answer(TEXT);
  });
  const unknown = forBrowsers(page.missing, (exchange, request) => {
    if (request.path.startsWith(PROBLEM_PAGES)) answerProblem(exchange, request);
    else exchange.answer(UNKNOWN_PAGE);
  });
  const docs: Handler = (exchange, request) => (isPage(request.path) ? known : unknown)(exchange, request);
  const missing = forBrowsers(page.missing, answerProblem);
  const types: Handler = (exchange, request) =>
    (isPage(request.path) ? answerProblem : missing)(exchange, request);
  return [
    page.files,
    { path: DOCS, method: 'GET', help: 'the documentation of the REST API', handle: docs },
    { path: `${DOCS}/*`, method: 'GET', help: 'a page of the documentation of the REST API', handle: docs },
    { path: TYPES, method: 'GET', help: 'all problem codes of the REST API', handle: types },
    {
      path: `${TYPES}/*`,
      method: 'GET',
      help: 'what a problem means, and what to do',
      handle: types,
    },
  ];
}

/** Explains a problem code, or lists all of them. Browsers are sent to the page in the documentation. */
const answerProblem: Handler = (exchange, request) => {
  const { path } = request;
  const code = path.slice((path.startsWith(TYPES) ? TYPES : PROBLEM_PAGES).length + 1);
  const accept = request.header('accept').toLowerCase();
  const answer = code === '' ? listOf(accept) : explanationOf(code, accept);
  exchange.answer({ ...answer, headers: { Vary: 'Accept', ...answer.headers } });
};

function listOf(accept: string): Answer {
  if (acceptsHtml(accept)) return seeOther(PROBLEM_PAGES);
  if (accept.includes('application/json')) return jsonAnswer({ problems: CODES.map(described) });
  const lines = CODES.map(code => `${PROBLEMS[code].status}  ${code}: ${PROBLEMS[code].title}\n`);
  return textAnswer(lines.join(''));
}

function explanationOf(text: string, accept: string): Answer {
  const code = CODES.find(each => each === text);
  if (code === undefined) return unknownCode(accept);
  if (acceptsHtml(accept)) return seeOther(`${PROBLEM_PAGES}/${code}`);
  if (accept.includes('application/json')) return jsonAnswer(described(code));
  const { status, title, meaning, remedy } = PROBLEMS[code];
  return textAnswer(`${code} (${status}): ${title}\n\n${meaning}\n\n${remedy}\n`);
}

function unknownCode(accept: string): Answer {
  const status = '404 Not Found';
  if (!accept.includes('json')) return textAnswer(`${UNKNOWN_CODE}\n`, status);
  const problem = { type: 'about:blank', title: 'Not Found', status: 404, detail: UNKNOWN_CODE };
  return { status, contentType: 'application/problem+json', body: JSON.stringify(problem) };
}

function described(code: ProblemCode): object {
  return { type: problemType(code), code, ...PROBLEMS[code] };
}

function jsonAnswer(value: object): Answer {
  return { status: '200 OK', contentType: 'application/json', body: JSON.stringify(value) };
}

/** RFC 9110, 15.4.4. */
function seeOther(path: string): Answer {
  return { status: '303 See Other', contentType: '', headers: { Location: path }, body: '' };
}
