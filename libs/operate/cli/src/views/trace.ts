/** Owns a trace as lines: the tree, how long each span took, and a picture of when. Similar spans become one line. */

import type { TraceSpan } from '@tidemark/traces';
import type { Terminal } from '../terminal.ts';
import { counted, duration } from '../text/units.ts';
import { cut, printable } from '../text/width.ts';

/** Spans of one name below the same parent that `trace show` lists one by one. */
const TRACE_ALIKE_COUNT = 4;
/** Columns of the picture beside the tree, and of the tree's names, at most. */
const TRACE_PICTURE_COLUMNS = 40;
const TRACE_NAME_COLUMNS = 48;

interface TraceView {
  readonly terminal: Pick<Terminal, 'paint' | 'width'>;
  /** Includes similar ones. */
  readonly isWhole: boolean;
}

/** One line of the picture: a span, or several similar ones. */
interface Row {
  readonly lead: string;
  readonly name: string;
  readonly spans: readonly TraceSpan[];
}

export function traceLines(spans: readonly TraceSpan[], view: TraceView): readonly string[] {
  const root = spans.find(({ parentSpanId }) => parentSpanId === null);
  if (root === undefined) return ['No span has been decided yet.'];
  const children = new Map<string, TraceSpan[]>();
  for (const span of spans) {
    if (span.parentSpanId !== null) append(children, span.parentSpanId, span);
  }
  const rows: Row[] = [...rowsOf(root, children, '', '', view.isWhole)];
  const [fromMs, toMs] = [root.startMs, Math.max(...rows.flatMap((row) => row.spans.map(({ endMs }) => endMs)))];
  const widths = {
    name: Math.min(TRACE_NAME_COLUMNS, Math.max(...rows.map(({ lead, name }) => lead.length + name.length))),
    time: Math.max(...rows.map((row) => timeOf(row).length)),
  };
  const line = (row: Row): string => {
    const name = cut(`${row.lead}${printable(row.name)}`, widths.name).padEnd(widths.name);
    const failed = row.spans.some(({ error }) => error !== undefined);
    const text = `${name}  ${timeOf(row).padStart(widths.time)}  ${picture(row.spans, fromMs, toMs)}  ${tail(row)}`;
    return failed ? view.terminal.paint('red', text.trimEnd()) : text.trimEnd();
  };
  return [`trace ${root.traceId}, ${counted(spans.length, 'span')}`, '', ...rows.map(line)];
}

function append(lists: Map<string, TraceSpan[]>, key: string, span: TraceSpan): void {
  const known = lists.get(key);
  if (known === undefined) lists.set(key, [span]);
  else known.push(span);
}

function* rowsOf(
  span: TraceSpan,
  children: ReadonlyMap<string, readonly TraceSpan[]>,
  lead: string,
  below: string,
  isWhole: boolean,
): Iterable<Row> {
  yield { lead, name: span.name, spans: [span] };
  const own = (children.get(span.spanId) ?? []).toSorted((a, b) => a.startMs - b.startMs);
  const groups = isWhole ? own.map((one) => [one]) : alike(own);
  for (const [at, group] of groups.entries()) {
    const isLast = at === groups.length - 1;
    const next = `${below}${isLast ? '└ ' : '├ '}`;
    if (group.length > 1) yield { lead: next, name: `${group[0]!.name} × ${group.length}`, spans: group };
    else yield* rowsOf(group[0]!, children, next, `${below}${isLast ? '  ' : '│ '}`, isWhole);
  }
}

/** Many successful spans of one name are one line, in the place of the first; failed ones stand alone. */
function alike(spans: readonly TraceSpan[]): readonly (readonly TraceSpan[])[] {
  const counts = new Map<string, number>();
  const isPlain = ({ error, isOpen }: TraceSpan): boolean => error === undefined && !isOpen;
  for (const span of spans) if (isPlain(span)) counts.set(span.name, (counts.get(span.name) ?? 0) + 1);
  const groups: TraceSpan[][] = [];
  const large = new Map<string, TraceSpan[]>();
  for (const span of spans) {
    const known = large.get(span.name);
    if (!isPlain(span) || counts.get(span.name)! <= TRACE_ALIKE_COUNT) groups.push([span]);
    else if (known !== undefined) known.push(span);
    else {
      const group = [span];
      large.set(span.name, group);
      groups.push(group);
    }
  }
  return groups;
}

const lengthOf = ({ startMs, endMs }: TraceSpan): number => endMs - startMs;

const timeOf = ({ spans }: Row): string => duration(spans.reduce((sum, span) => sum + lengthOf(span), 0));

/** Where in the whole the spans lie: `=` under way, `x` where it failed, `>` where it continues. */
function picture(spans: readonly TraceSpan[], fromMs: number, toMs: number): string {
  const columns = new Array<string>(TRACE_PICTURE_COLUMNS).fill('·');
  const scale = TRACE_PICTURE_COLUMNS / Math.max(1, toMs - fromMs);
  for (const { startMs, endMs, error, isOpen } of spans) {
    const first = Math.min(TRACE_PICTURE_COLUMNS - 1, Math.max(0, Math.floor((startMs - fromMs) * scale)));
    const last = Math.min(TRACE_PICTURE_COLUMNS - 1, Math.max(first, Math.ceil((endMs - fromMs) * scale) - 1));
    for (let at = first; at <= last; at++) columns[at] = '=';
    if (error !== undefined) columns[last] = 'x';
    if (isOpen) columns[last] = '>';
  }
  return columns.join('');
}

/** Worth mentioning. */
function tail({ spans }: Row): string {
  const [{ attributes, error, isOpen }] = spans as [TraceSpan];
  if (spans.length > 1) return `longest ${duration(Math.max(...spans.map(lengthOf)))}`;
  const reported = (name: string): readonly string[] => {
    const value = attributes[`tidemark.${name}`];
    return value === undefined ? [] : [String(value)];
  };
  const sequence = reported('checkpoint.sequence').map((text) => `#${text}`);
  const tokens = reported('tokens').flatMap((text) => (Number(text) > 0 ? [`${text} tokens`] : []));
  const recovery = reported('recovery.action').map((text) => `recovery: ${text}`);
  const ended = [...reported('status'), ...reported('lease.end').filter((text) => text !== error)];
  return [
    ...(isOpen ? ['open'] : []),
    ...(error === undefined ? [] : [error]),
    ...ended,
    ...sequence,
    ...tokens,
    ...recovery,
  ]
    .map(printable)
    .join(', ');
}
