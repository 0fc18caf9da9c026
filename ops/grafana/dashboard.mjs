import { ROWS } from './panels.mjs';
import { QUESTIONS } from './questions.mjs';

// Grafana's grid has 24 columns. A row of its grid has 30 pixels and a gap of 8.
const COLUMNS = 24;
const QUESTION = { w: 6, h: 7 };
const PANEL = { w: 8, h: 8 };

const DATASOURCE = { type: 'prometheus', uid: '$datasource' };

/** The dashboard as Grafana imports it: the panels of the first screen, and below them a row for each part. */
export function dashboard() {
  const panels = laidOut(QUESTIONS, QUESTION, 0);
  for (const { title, panels: below } of ROWS) {
    const y = Math.max(...panels.map(({ gridPos }) => gridPos.y + gridPos.h));
    panels.push({ type: 'row', title, collapsed: false, gridPos: { x: 0, y, w: COLUMNS, h: 1 }, panels: [] });
    panels.push(...laidOut(below, PANEL, y + 1));
  }
  return {
    title: 'Sluice',
    uid: 'sluice-decisions',
    description: 'Decisions, counter store, process and tasks of Sluice. See docs/operations.md.',
    schemaVersion: 39,
    version: 2,
    editable: true,
    graphTooltip: 1,
    tags: ['sluice'],
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    timezone: 'browser',
    annotations: { list: [restarts()] },
    templating: { list: variables() },
    panels: panels.map((panel, index) => ({ id: index + 1, ...panel })),
  };
}

function laidOut(panels, { w, h }, top) {
  const perLine = COLUMNS / w;
  return panels.map((panel, index) => ({
    ...drawn(panel),
    gridPos: { x: (index % perLine) * w, y: top + Math.floor(index / perLine) * h, w, h },
  }));
}

function drawn({ title, kind = 'timeseries', unit = 'none', max, help, queries }) {
  const isStat = kind === 'stat';
  return {
    type: kind,
    title,
    ...(help === undefined ? {} : { description: help }),
    datasource: DATASOURCE,
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode(65 + index),
      datasource: DATASOURCE,
      expr,
      legendFormat: legend,
      ...(isStat ? { instant: true, range: false } : { instant: false, range: true }),
    })),
    fieldConfig: {
      defaults: {
        unit,
        min: isStat ? undefined : 0,
        max,
        noValue: 'none',
        custom: isStat ? undefined : CURVE,
      },
      overrides: queries
        .filter(query => query.unit !== undefined)
        .map(query => ({
          matcher: { id: 'byName', options: query.legend },
          properties: [{ id: 'unit', value: query.unit }],
        })),
    },
    options: isStat ? STAT : LINES,
  };
}

const CURVE = { drawStyle: 'line', lineWidth: 1, fillOpacity: 5, showPoints: 'never', spanNulls: false };
const LINES = {
  legend: { showLegend: true, displayMode: 'list', placement: 'bottom', calcs: [] },
  tooltip: { mode: 'multi', sort: 'desc' },
};
const STAT = {
  colorMode: 'none',
  graphMode: 'none',
  justifyMode: 'auto',
  orientation: 'horizontal',
  textMode: 'value_and_name',
  reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
};

/** Jobs and instances have no "all" value of their own, because that would include other programs. */
function variables() {
  const ofLabel = (name, label, query, more) => ({
    name,
    label,
    type: 'query',
    datasource: DATASOURCE,
    query: { query, refId: name },
    definition: query,
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    current: { selected: true, text: ['All'], value: ['$__all'] },
    ...more,
  });
  return [
    { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus', refresh: 1 },
    ofLabel('job', 'Job', 'label_values(sluice_build_info, job)'),
    ofLabel('instance', 'Instance', 'label_values(sluice_build_info{job=~"$job"}, instance)'),
    ofLabel(
      'domain',
      'Domain',
      'label_values(ratelimit_service_rate_limit_total_hits{job=~"$job",instance=~"$instance"}, domain)',
      { allValue: '.*' },
    ),
  ];
}

function restarts() {
  return {
    name: 'Starts',
    enable: true,
    iconColor: 'blue',
    datasource: DATASOURCE,
    expr: 'changes(process_start_time_seconds{job=~"$job",instance=~"$instance"}[$__rate_interval]) > 0',
    titleFormat: 'Start of {{instance}}',
  };
}
