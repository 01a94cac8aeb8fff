/** Owns the shape of Grafana's dashboards as this project uses it: panels as data, laid out in rows of equal panels. Must know no metric. */

import { within } from './installation.ts';

const GRID_COLUMNS = 24;
const PANEL_HEIGHT = 8;
const STAT_HEIGHT = 4;
/** Version of Grafana's schema of the files; newer Grafanas migrate them. */
const SCHEMA_VERSION = 39;

export interface Query {
  readonly expr: string;
  /** Name of a series; absent: all its labels. */
  readonly legend?: string;
}

export interface Panel {
  readonly title: string;
  /** What it shows, and how to read it. */
  readonly says: string;
  /** Grafana's name of the unit. */
  readonly unit: 's' | 'ops' | 'short' | 'bytes' | 'percentunit' | 'ms' | 'Bps';
  readonly queries: readonly Query[];
  readonly kind?: 'timeseries' | 'stat' | 'bargauge' | 'heatmap';
  /** Thresholds of orange and red. */
  readonly warn?: readonly [number, number];
  readonly stacked?: true;
  /** Its values may be negative. */
  readonly isSigned?: true;
  readonly exemplars?: true;
}

/** Traces in the collector, by a word of Jaeger's search. */
export interface TracesPanel {
  readonly title: string;
  readonly says: string;
  readonly traces: { readonly service: string; readonly tags: string };
}

export interface Variable {
  readonly name: string;
  readonly label: string;
  /** `label_values(METRIC, LABEL)`; absent: people type it. */
  readonly query?: string;
}

export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly says: string;
  readonly variables: readonly Variable[];
  readonly rows: readonly { readonly title: string; readonly panels: readonly (Panel | TracesPanel)[] }[];
}

// biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of Grafana's.
const PROMETHEUS = { type: 'prometheus', uid: '${datasource}' };
/** All panels where there is one row, which then has no name. */
const OF_INSTALLATION = 'installation=~"$installation"';
const INSTALLATION: Variable = {
  ...{ name: 'installation', label: 'Installation', query: 'label_values(up{job="tidemark"}, installation)' },
};
const JAEGER = { type: 'jaeger', uid: 'jaeger' };

/** The file, as Grafana's provisioning reads it. */
export function dashboardFile({ uid, title, says, variables, rows }: Dashboard): object {
  return {
    uid,
    title,
    description: says,
    tags: ['tidemark'],
    schemaVersion: SCHEMA_VERSION,
    version: 1,
    editable: false,
    refresh: '15s',
    time: { from: 'now-1h', to: 'now' },
    timezone: '',
    links: [
      {
        type: 'dashboards',
        tags: ['tidemark'],
        title: 'Tidemark',
        asDropdown: true,
        includeVars: false,
        keepTime: true,
      },
    ],
    templating: { list: [sourceVariable(), variable(INSTALLATION), ...variables.map(ofInstallation).map(variable)] },
    panels: laidOut(rows),
  };
}

const sourceVariable = (): object => ({
  ...{ name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
  current: { text: 'Prometheus', value: 'prometheus' },
});

/** The query as the dashboard sends it. */
export const asked = (query: string): string => within(OF_INSTALLATION, query);

const ofInstallation = (each: Variable): Variable =>
  each.query === undefined ? each : { ...each, query: asked(each.query) };

function variable({ name, label, query }: Variable): object {
  if (query === undefined) return { name, label, type: 'textbox', query: '', current: { text: '', value: '' } };
  return {
    ...{ name, label, type: 'query', datasource: PROMETHEUS, query: { query, refId: name }, definition: query },
    // Repeated when the time range changes, since names come and go.
    ...{ refresh: 2, sort: 1, multi: true, includeAll: true, allValue: '.*' },
    current: { text: 'All', value: '$__all' },
  };
}

function laidOut(rows: Dashboard['rows']): readonly object[] {
  const panels: object[] = [];
  let y = 0;
  for (const row of rows) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title: row.title,
      collapsed: false,
      panels: [],
      gridPos: { h: 1, w: GRID_COLUMNS, x: 0, y },
    });
    y += 1;
    const w = Math.floor(GRID_COLUMNS / row.panels.length);
    const h = row.panels.every((panel) => 'queries' in panel && panel.kind === 'stat') ? STAT_HEIGHT : PANEL_HEIGHT;
    for (const [at, panel] of row.panels.entries()) {
      const place = { id: panels.length + 1, gridPos: { h, w, x: at * w, y } };
      panels.push('queries' in panel ? { ...place, ...ofMetrics(panel) } : { ...place, ...ofTraces(panel) });
    }
    y += h;
  }
  return panels;
}

function ofMetrics(panel: Panel): object {
  const { title, says, unit, queries, kind = 'timeseries', warn, stacked, isSigned, exemplars } = panel;
  const steps = [
    { color: 'green', value: null },
    ...(warn === undefined
      ? []
      : [
          { color: 'orange', value: warn[0] },
          { color: 'red', value: warn[1] },
        ]),
  ];
  const custom =
    kind === 'timeseries'
      ? {
          ...{ lineWidth: 1, fillOpacity: stacked ? 30 : 10, showPoints: 'never', spanNulls: false },
          stacking: { mode: stacked ? 'normal' : 'none', group: 'A' },
          thresholdsStyle: { mode: warn === undefined ? 'off' : 'dashed' },
        }
      : {};
  return {
    type: kind,
    title,
    description: says,
    datasource: PROMETHEUS,
    targets: queries.map(({ expr, legend }, at) => ({
      ...{
        refId: String.fromCharCode(65 + at),
        datasource: PROMETHEUS,
        expr: asked(expr),
        legendFormat: legend ?? '__auto',
      },
      ...(kind === 'heatmap' ? { format: 'heatmap' } : {}),
      ...(kind === 'stat' || kind === 'bargauge' ? { instant: true, range: false } : { range: true, instant: false }),
      ...(exemplars && { exemplar: true }),
    })),
    fieldConfig: {
      defaults: { unit, ...(!isSigned && { min: 0 }), thresholds: { mode: 'absolute', steps }, custom },
      overrides: [],
    },
    options: optionsOf(kind),
  };
}

function optionsOf(kind: NonNullable<Panel['kind']>): object {
  const reduceOptions = { calcs: ['lastNotNull'], fields: '', values: false };
  if (kind === 'stat') return { reduceOptions, colorMode: 'value', graphMode: 'area', textMode: 'auto' };
  if (kind === 'bargauge') return { reduceOptions, orientation: 'horizontal', displayMode: 'basic' };
  if (kind === 'heatmap') return { calculate: false, yAxis: { unit: 's' }, color: { mode: 'scheme', scheme: 'Blues' } };
  return {
    legend: { displayMode: 'table', placement: 'bottom', calcs: ['lastNotNull', 'max'] },
    tooltip: { mode: 'multi', sort: 'desc' },
  };
}

const ofTraces = ({ title, says, traces }: TracesPanel): object => ({
  ...{ type: 'table', title, description: says, datasource: JAEGER },
  targets: [{ refId: 'A', datasource: JAEGER, queryType: 'search', ...traces, limit: 20 }],
  ...{ fieldConfig: { defaults: {}, overrides: [] }, options: {} },
});
