/** Owns `tidemark trace show` and `tidemark trace export`: a run's trace, drawn from its history. */

import { access, constants, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Answer, Client } from '@tidemark/client';
import { ConfigError, InvalidError, messageOf } from '@tidemark/core';
import { EXIT } from '@tidemark/host/exit-codes';
import { collectorOf, otlpJson, SpanClient, type TraceSpan } from '@tidemark/traces';
import { allOf } from '../place/pages.ts';
import { atPlace, type PlaceOptions } from '../place/place.ts';
import { noticeStall } from '../place/stall.ts';
import type { Session } from '../session.ts';
import { counted } from '../text/units.ts';
import { printable } from '../text/width.ts';
import { traceLines } from '../views/trace.ts';

export interface TraceShowOptions extends PlaceOptions {
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
  return atPlace(session, { ...options, how: 'read' }, async ({ client }) => {
    const spans = await spansOf(client, id, options);
    terminal.answer({ spans });
    if (!terminal.json) terminal.lines(traceLines(spans.map(traceSpan), { terminal, isWhole: options.all === true }));
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
  if (file !== undefined && file !== '-') await checkFile(file, cwd);
  const place = { ...options, how: 'read' } as const;
  const all = await atPlace(session, place, async ({ client }) => (await spansOf(client, id, options)).map(traceSpan));
  const spans = options.open === true ? all : all.filter(({ isOpen }) => !isOpen);
  const leftCount = all.length - spans.length;
  const where = collector === undefined ? file! : new URL(collector.url).host;
  if (collector !== undefined) {
    const sent = new SpanClient(collector).sendAll(spans, ({ message }) => terminal.warn(printable(message)));
    await noticeStall(session, `Still waiting for the collector at ${where}.`, sent);
  } else if (file === '-') terminal.help(`${await otlpJson(spans)}\n`);
  else {
    const text = `${await otlpJson(spans)}\n`;
    await writeFile(path.resolve(cwd, file!), text).catch((cause: unknown) => {
      throw unwritable(`${file} can't be written (${messageOf(cause)}). Name another file.`, cause);
    });
  }
  const reported = { trace_id: all[0]?.traceId ?? null, spans: spans.length, open_left_out: leftCount };
  if (file !== '-') terminal.answer(reported);
  terminal.note(`${counted(spans.length, 'span')} of trace ${reported.trace_id} to ${where}.`);
  if (leftCount > 0) terminal.note(`${counted(leftCount, 'span')} not ended yet: left out (--open exports them too).`);
  return EXIT.ok;
}

/** Throws `InvalidError` (`file-unwritable`) before a long trace is read in vain. */
async function checkFile(file: string, cwd: string): Promise<void> {
  const whole = path.resolve(cwd, file);
  try {
    await access(path.dirname(whole), constants.W_OK);
  } catch (cause) {
    const message = `the folder ${path.dirname(file)} is not there, or can't be written to. Make it first, or name another file.`;
    throw unwritable(message, cause);
  }
  const found = await stat(whole).catch(() => undefined);
  if (found?.isDirectory() === true) throw unwritable(`${file} is a folder. Name a file in it.`);
}

const unwritable = (message: string, cause?: unknown): InvalidError =>
  new InvalidError('file-unwritable', `--file: ${message}`, { cause });

type Span = Answer<'GET /v1/workflows/{workflow}/trace'>['spans'][number];

const spansOf = (client: Client, workflow: string, { content }: TraceShowOptions): Promise<readonly Span[]> =>
  allOf(
    (from: number | undefined) =>
      client.ask('GET /v1/workflows/{workflow}/trace', {
        params: { workflow },
        query: { from, ...(content === true && { content: 'true' as const }) },
      }),
    (page) => page.spans,
    (page) => page.next_from,
  );

/** As it is drawn and exported. */
const traceSpan = (span: Span): TraceSpan => ({
  ...{ traceId: span.trace_id, spanId: span.span_id, parentSpanId: span.parent_span_id },
  ...{ name: span.name, kind: span.kind, isOpen: span.open, error: span.error ?? undefined },
  ...{ startMs: Date.parse(span.start), endMs: Date.parse(span.end) },
  attributes: { ...span.attributes, ...span.content },
  links: span.links.map(({ trace_id, span_id, attributes }) => ({ traceId: trace_id, spanId: span_id, attributes })),
  events: span.events.map(({ name, at, attributes }) => ({ name, atMs: Date.parse(at), attributes })),
});
