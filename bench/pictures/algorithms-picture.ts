import { type Admitted, admittedByAlgorithm, BURST, DURATION_S, LIMIT, LOAD } from './admitted.ts';

const LEFT = 56;
const SECOND_WIDTH = 3.4;
const PLOT_WIDTH = DURATION_S * SECOND_WIDTH;
const WIDTH = LEFT + PLOT_WIDTH + 24;
const REQUEST_HEIGHT = 13;
const MOST_PER_SECOND = Math.max(...LOAD.map(phase => phase.requestsPerS));
const PLOT_HEIGHT = MOST_PER_SECOND * REQUEST_HEIGHT;
const PANEL_HEIGHT = PLOT_HEIGHT + 74;
const FIRST_PANEL = 52;

/** What a reader of the picture sees in each panel. */
const CAPTIONS: Readonly<Record<string, string>> = {
  fixed_window: 'twice the limit around the border of two windows, then all of a window at once',
  sliding_window: 'no second burst: the hits of the last minute fade out',
  token_bucket: `a burst of ${BURST}, then one request per second as tokens flow in`,
};

/** The picture as SVG: a panel for each algorithm, with the load behind what was admitted of it. */
export async function algorithmsPicture(): Promise<string> {
  const algorithms = await admittedByAlgorithm();
  const height = FIRST_PANEL + algorithms.length * PANEL_HEIGHT;
  const counts = algorithms.map(({ title, mostInWindow }) => `${title} ${mostInWindow}`).join(', ');
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title desc" font-family="system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif" font-size="14">`,
    '  <title id="title">Admitted requests over time with three algorithms</title>',
    `  <desc id="desc">Bar charts of the requests that limits of ${LIMIT} per minute admit in each second of the same load. Most admitted in any 60 seconds: ${counts}.</desc>`,
    STYLE,
    ...legend(),
    ...algorithms.flatMap((each, index) => panel(each, FIRST_PANEL + index * PANEL_HEIGHT)),
    '</svg>',
  ].join('\n')}\n`;
}

const STYLE = `  <style>
    .demand { fill: #d8dee4; }
    .admitted { fill: #0969da; }
    .border { stroke: #59636e; stroke-dasharray: 3 3; }
    .axis { stroke: #59636e; }
    text { fill: #1f2328; }
    .name { font-weight: 600; }
    .small { font-size: 12px; fill: #59636e; }
    .middle { text-anchor: middle; }
    .end { text-anchor: end; }
    @media (prefers-color-scheme: dark) {
      .demand { fill: #30363d; }
      .admitted { fill: #4493f8; }
      .border, .axis { stroke: #9198a1; }
      text { fill: #f0f6fc; }
      .small { fill: #b7bdc8; }
    }
  </style>`;

function legend(): string[] {
  return [
    `  <rect class="demand" x="${LEFT}" y="14" width="12" height="12" />`,
    `  <text class="small" x="${LEFT + 18}" y="24">requests per second</text>`,
    `  <rect class="admitted" x="${LEFT + 160}" y="14" width="12" height="12" />`,
    `  <text class="small" x="${LEFT + 178}" y="24">admitted</text>`,
    `  <text class="small end" x="${LEFT + PLOT_WIDTH}" y="24">all limits: ${LIMIT} per minute; the bucket holds ${BURST} tokens</text>`,
  ];
}

function panel({ title, perSecond, mostInWindow }: Admitted, top: number): string[] {
  const plotTop = top + 26;
  const bottom = plotTop + PLOT_HEIGHT;
  return [
    `  <text class="name" x="${LEFT}" y="${top + 12}">${title}</text>`,
    `  <text class="small" x="${LEFT + 134}" y="${top + 12}">${CAPTIONS[title]}</text>`,
    `  <text class="small end" x="${LEFT + PLOT_WIDTH}" y="${top + 12}">most in any 60 seconds: ${mostInWindow}</text>`,
    ...LOAD.map(({ fromS, toS, requestsPerS }) => bar('demand', fromS, toS - fromS, requestsPerS, bottom)),
    ...bars(perSecond, bottom),
    ...minutes(plotTop, bottom),
    `  <path class="axis" d="M${LEFT} ${bottom}h${PLOT_WIDTH}" />`,
    `  <text class="small end" x="${LEFT - 8}" y="${plotTop + 5}">${MOST_PER_SECOND}/s</text>`,
    `  <text class="small end" x="${LEFT - 8}" y="${bottom}">0</text>`,
  ];
}

/** A bar for each run of seconds with the same number of requests. */
function bars(perSecond: readonly number[], bottom: number): string[] {
  const found: string[] = [];
  let from = 0;
  for (let second = 1; second <= perSecond.length; second++) {
    if (perSecond[second] === perSecond[from]) continue;
    if (perSecond[from] > 0) found.push(bar('admitted', from, second - from, perSecond[from], bottom));
    from = second;
  }
  return found;
}

function bar(name: string, fromS: number, seconds: number, requestsPerS: number, bottom: number): string {
  const height = requestsPerS * REQUEST_HEIGHT;
  const [x, width] = [LEFT + fromS * SECOND_WIDTH, seconds * SECOND_WIDTH].map(each => each.toFixed(1));
  return `  <rect class="${name}" x="${x}" y="${bottom - height}" width="${width}" height="${height}" />`;
}

function minutes(top: number, bottom: number): string[] {
  return Array.from({ length: DURATION_S / 60 + 1 }, (_, minute) => {
    const x = (LEFT + minute * 60 * SECOND_WIDTH).toFixed(1);
    return `  <path class="border" d="M${x} ${top}V${bottom}" /><text class="small middle" x="${x}" y="${bottom + 16}">0${minute}:00</text>`;
  });
}
