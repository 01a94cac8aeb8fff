/** Owns `tidemark trace show` and `tidemark trace export`: a run's trace, drawn from its history in whichever tier that is. */

import { access, constants, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError, InvalidError } from '@tidemark/core';
import { EXIT } from '@tidemark/host';
import { collectorOf, otlpRequest, packSpan, sendAll, type TraceSpan } from '@tidemark/traces';
import type { Session } from '../session.ts';
import { atDesk } from '../state/at-desk.ts';
import type { Desk } from '../state/desk.ts';
import { requireWorkflow } from '../state/require-workflow.ts';
import { counted } from '../text/units.ts';
import { traceLines } from '../views/trace.ts';

export interface TraceShowOptions {
  readonly state?: string | undefined;
  readonly content?: boolean | undefined;
  readonly all?: boolean | undefined;
}

export interface TraceExportOptions extends Omit<TraceShowOptions, 'all'> {
  readonly otlp?: string | undefined;
  readonly file?: string | undefined;
  readonly open?: boolean | undefined;
}

export function traceShow(session: Session, id: string, options: TraceShowOptions): Promise<number> {
  const { terminal } = session;
  return atDesk(session, { state: options.state, how: 'look' }, async (desk) => {
    const spans = await spansOf(desk, id, options);
    terminal.document(spans);
    if (!terminal.json) terminal.lines(traceLines(spans, { terminal, isWhole: options.all === true }));
    return EXIT.ok;
  });
}

export async function traceExport(session: Session, id: string, options: TraceExportOptions): Promise<number> {
  const { terminal, env, cwd } = session;
  const { file, otlp } = options;
  const collector = file === undefined ? collectorOf(env, otlp) : undefined;
  if (file === undefined && collector === undefined) {
    throw new ConfigError(
      'collector-missing',
      'Name a collector (--otlp http://HOST:4318, or OTEL_EXPORTER_OTLP_ENDPOINT), or a file (--file FILE, - for standard output).',
    );
  }
  if (file !== undefined && file !== '-') await checkFolder(file, cwd);
  return atDesk(session, { state: options.state, how: 'look' }, async (desk) => {
    const all = await spansOf(desk, id, options);
    const spans = options.open === true ? all : all.filter(({ isOpen }) => !isOpen);
    const leftCount = all.length - spans.length;
    if (collector !== undefined) await sendAll(collector, spans);
    else if (file === '-') terminal.help(`${text(spans)}\n`);
    else await writeFile(path.resolve(cwd, file!), `${text(spans)}\n`);
    const told = { trace_id: all[0]?.traceId ?? null, spans: spans.length, open_left_out: leftCount };
    if (file !== '-') terminal.document(told);
    const where = collector === undefined ? file! : new URL(collector.url).host;
    terminal.note(`${counted(spans.length, 'span')} of trace ${told.trace_id} to ${where}.`);
    if (leftCount > 0)
      terminal.note(`${counted(leftCount, 'span')} not ended yet: left out (--open exports them too).`);
    return EXIT.ok;
  });
}

/** Throws `InvalidError` (`file-unwritable`), before a long trace is read for nothing. */
async function checkFolder(file: string, cwd: string): Promise<void> {
  try {
    await access(path.dirname(path.resolve(cwd, file)), constants.W_OK);
  } catch (cause) {
    const message = `--file: the folder ${path.dirname(file)} is not there, or can't be written to. Make it first, or name another file.`;
    throw new InvalidError('file-unwritable', message, { cause });
  }
}

const text = (spans: readonly TraceSpan[]): string => {
  const packed = spans.map((span) => packSpan(span, 'json'));
  return Buffer.from(otlpRequest(packed, 'json')).toString();
};

async function spansOf(desk: Desk, id: string, options: TraceShowOptions): Promise<readonly TraceSpan[]> {
  const { workflow } = await requireWorkflow(desk, id);
  const spans: TraceSpan[] = [];
  for (;;) {
    const page = await desk.past.trace(workflow, { from: spans.length, content: options.content === true });
    spans.push(...page.spans);
    if (!page.hasMore) return spans;
  }
}
