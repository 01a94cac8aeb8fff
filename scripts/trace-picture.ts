/**
 * Owns the picture of a trace: reads what `tidemark trace export WORKFLOW --file FILE` wrote, and writes an SVG of its spans in time.
 * Spans of one name below the same parent are one row.
 *
 *   node scripts/trace-picture.ts trace.json docs/audit-trace.svg
 */

import { readFileSync, writeFileSync } from 'node:fs';

interface Span {
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status?: { readonly code?: number; readonly message?: string };
}

interface Row {
  readonly depth: number;
  readonly name: string;
  readonly spans: readonly Span[];
}

const ROW_PX = 22;
const LABEL_PX = 280;
const CHART_PX = 640;
const PAD_PX = 12;
const HEAD_PX = 44;

const [from, to] = process.argv.slice(2);
if (from === undefined || to === undefined) {
  console.error('usage: node scripts/trace-picture.ts EXPORT.json PICTURE.svg');
  process.exit(64);
}

const request = JSON.parse(readFileSync(from, 'utf8')) as {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly Span[] }[] }[];
};
const spans = request.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans));
const msOf = (nanos: string): number => Number(BigInt(nanos) / 1_000n) / 1_000;
const startOf = (span: Span): number => msOf(span.startTimeUnixNano);
const endOf = (span: Span): number => msOf(span.endTimeUnixNano);
const isFailed = ({ status }: Span): boolean => status?.code === 2;

const root = spans.find(({ parentSpanId }) => (parentSpanId ?? '') === '');
if (root === undefined) throw new Error(`${from} has no span without a parent: export a run that has ended.`);
const rows = [...rowsOf(root, 0)];
const [startMs, endMs] = [startOf(root), Math.max(...spans.map(endOf))];
const scale = CHART_PX / (endMs - startMs);

function* rowsOf(span: Span, depth: number): Iterable<Row> {
  yield { depth, name: span.name, spans: [span] };
  const children = spans
    .filter(({ parentSpanId }) => parentSpanId === span.spanId)
    .toSorted((a, b) => startOf(a) - startOf(b));
  const named = Map.groupBy(children, ({ name }) => name);
  for (const [name, group] of named) {
    const hasChildren = group.some(({ spanId }) => spans.some(({ parentSpanId }) => parentSpanId === spanId));
    if (group.length > 1 && !hasChildren) yield { depth: depth + 1, name: `${name} × ${group.length}`, spans: group };
    else for (const one of group) yield* rowsOf(one, depth + 1);
  }
}

const escaped = (text: string): string => text.replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`);
const durationText = (ms: number): string => (ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`);

function bar(span: Span, y: number): string {
  const x = LABEL_PX + (startOf(span) - startMs) * scale;
  const width = Math.max(1.5, (endOf(span) - startOf(span)) * scale);
  const kind = isFailed(span) ? 'lost' : span.name === 'recovery' ? 'recovery' : 'plain';
  const why = isFailed(span) ? `, ${span.status?.message ?? 'failed'}` : '';
  const title = `<title>${escaped(`${span.name}, ${durationText(endOf(span) - startOf(span))}${why}`)}</title>`;
  return `<rect class="${kind}" x="${x.toFixed(1)}" y="${y + 4}" width="${width.toFixed(1)}" height="${ROW_PX - 8}" rx="2">${title}</rect>`;
}

/** Spans that touch or overlap in the picture are one bar. */
function barsOf({ spans: all }: Row): readonly Span[] {
  const [first, ...rest] = all.toSorted((a, b) => startOf(a) - startOf(b));
  const bars: Span[] = [first!];
  for (const span of rest) {
    const last = bars.at(-1)!;
    if (isFailed(span) || isFailed(last) || startOf(span) - endOf(last) > 1 / scale) bars.push(span);
    else if (endOf(span) > endOf(last)) bars[bars.length - 1] = { ...last, endTimeUnixNano: span.endTimeUnixNano };
  }
  return bars;
}

function line(row: Row, at: number): string {
  const y = HEAD_PX + at * ROW_PX;
  const failed = row.spans.find(isFailed);
  const label = `${row.name}${failed === undefined ? '' : ` — ${failed.status?.message ?? 'failed'}`}`;
  const text = `<text x="${PAD_PX + row.depth * 14}" y="${y + 15}"${failed === undefined ? '' : ' class="bad"'}>${escaped(label)}</text>`;
  return (
    text +
    barsOf(row)
      .map((span) => bar(span, y))
      .join('')
  );
}

const [width, height] = [LABEL_PX + CHART_PX + PAD_PX * 2, HEAD_PX + rows.length * ROW_PX + PAD_PX];
const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => {
  const x = LABEL_PX + share * CHART_PX;
  const anchor = share === 1 ? 'end' : share === 0 ? 'start' : 'middle';
  return `<line x1="${x}" y1="${HEAD_PX - 6}" x2="${x}" y2="${height - PAD_PX}"/><text class="tick" x="${x}" y="${HEAD_PX - 12}" text-anchor="${anchor}">${durationText(share * (endMs - startMs))}</text>`;
});
writeFileSync(
  to,
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="Trace of a run">
<style>
  svg { background: #fff; font: 12px ui-monospace, SFMono-Regular, Menlo, monospace; }
  text { fill: #1f2933; } .tick { fill: #6b7785; font-size: 10px; } .bad { fill: #b42318; }
  line { stroke: #e4e7eb; } .plain { fill: #2f7ea8; } .recovery { fill: #d98e04; } .lost { fill: #d64545; }
  @media (prefers-color-scheme: dark) { svg { background: #14181d; } text { fill: #dfe5ec; } .tick { fill: #8b97a5; } .bad { fill: #ff8f86; } line { stroke: #2a323b; } }
</style>
${ticks.join('\n')}
${rows.map(line).join('\n')}
</svg>
`,
);
console.log(`${to}: ${rows.length} rows of ${spans.length} spans`);
