/**
 * Owns the lines that services log: one JSON object per line on standard error, by pino. `at`, `level` and `message` come first; then ids,
 * counts and codes, never payloads. A line about a workflow carries `trace_id` and `span_id` of its trace. Everything that looks like a
 * secret is masked, wherever it came from.
 */

import { messageOf, TidemarkError, type WorkflowId } from '@tidemark/core';
import { traceIdOf, workflowSpan } from '@tidemark/runtime';
import { maskSecrets, withoutCredentials } from '@tidemark/secrets';
import { type DestinationStream, destination, type Logger, pino } from 'pino';

export type LogLevel = 'info' | 'warn' | 'error';
export type LogFields = Readonly<Record<string, unknown>>;

/** Names of fields whose values nobody needs to read in a log. */
const SECRET_FIELDS = ['password', 'secret', 'token', 'authorization', 'apiKey', 'api_key', 'credentials'];
const GONE = '[redacted]';

export function createLogger(stream: DestinationStream): Logger {
  return pino(
    {
      base: null,
      messageKey: 'message',
      timestamp: () => `,"at":"${new Date().toISOString()}"`,
      formatters: { level: (level) => ({ level }) },
      redact: { paths: [...SECRET_FIELDS, ...SECRET_FIELDS.map((name) => `*.${name}`)], censor: GONE },
    },
    stream,
  );
}

/** Written synchronously: a process that exits right after loses no line. */
const standard = createLogger(destination({ fd: 2, sync: true }));

/** One JSON object a line. Fields hold ids, counts and codes; never payloads or secrets. */
export function logLine(level: LogLevel, message: string, fields: LogFields = {}, logger = standard): void {
  // Only free text is searched by form: an id may look like a key.
  logger[level]({ ...withoutSecrets(fields), ...traceOf(fields) }, maskSecrets(withoutCredentials(message)));
}

/** Logs a warning of the opening. */
export const warningLine = (code: string, message: string): void => logLine('warn', message, { code });

/** Where a workflow is named, its trace. */
function traceOf({ workflow }: LogFields): LogFields {
  if (typeof workflow !== 'string' || workflow === '') return {};
  return { trace_id: traceIdOf(workflow as WorkflowId), span_id: workflowSpan(workflow as WorkflowId) };
}

const withoutSecrets = (fields: LogFields): LogFields =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === 'string' ? withoutCredentials(value) : value,
    ]),
  );

/** Repetitions of one failure within this many milliseconds are counted, not logged. */
const REPEAT_WINDOW_MS = 5_000;
/** Different failures that are remembered, at most. */
const FAILURES_MAX_COUNT = 1_000;

/** Reports failures that the process survived: each kind at most once a window, with the number of its repetitions. */
export function failureReporter(logger = standard): (where: string, error: unknown) => void {
  const seen = new Map<string, { sinceMs: number; repeatCount: number }>();
  return (where, error) => {
    const code = error instanceof TidemarkError ? error.code : 'error';
    const text = messageOf(error);
    const key = `${where} ${code} ${text}`;
    const last = seen.get(key);
    const now = performance.now();
    if (last !== undefined && now - last.sinceMs < REPEAT_WINDOW_MS) {
      last.repeatCount++;
      return;
    }
    const workflow = workflowOf(where, error);
    const reported = { where, code, ...(workflow !== undefined && { workflow }) };
    logLine('warn', text, { ...reported, ...(last !== undefined && { repeated: last.repeatCount }) }, logger);
    seen.set(key, { sinceMs: now, repeatCount: 0 });
    if (seen.size > FAILURES_MAX_COUNT) seen.clear();
  };
}

/** The workflow of a failure, if it or its cause names one. */
function workflowOf(where: string, error: unknown): string | undefined {
  const named = error instanceof TidemarkError ? error.details.workflow : undefined;
  return typeof named === 'string' ? named : /^(?:workflow|hand-over of) (.+)$/.exec(where)?.[1];
}
