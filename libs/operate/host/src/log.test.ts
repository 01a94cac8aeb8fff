/** Lines of services: what programs read, the trace of the workflow they are about, and no secret. */

import { UnavailableError, type WorkflowId } from '@tidemark/core';
import { traceIdOf, workflowSpan } from '@tidemark/runtime';
import { expect, test } from 'vitest';
import { createLogger, failureReporter, logLine } from './log.ts';

function lines(write: (logger: ReturnType<typeof createLogger>) => void): readonly Record<string, unknown>[] {
  const written: string[] = [];
  write(createLogger({ write: (line) => void written.push(line) }));
  return written.map((line) => {
    expect(line.endsWith('\n')).toBe(true);
    return JSON.parse(line) as Record<string, unknown>;
  });
}

test('a line has when, how bad, what, and its fields', () => {
  const [line] = lines((logger) => logLine('info', 'worker started', { pid: 7 }, logger));
  expect(Object.keys(line!)).toEqual(['level', 'at', 'pid', 'message']);
  expect(line).toMatchObject({ level: 'info', message: 'worker started', pid: 7 });
  expect(line!.at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
});

test('about a workflow it names its trace, whoever tells of the workflow', () => {
  const reported = lines((logger) => {
    const report = failureReporter(logger);
    logLine('warn', 'late', { workflow: 'w1' }, logger);
    report('workflow w1', new Error('broken'));
    report('openings', new UnavailableError('start-in-doubt', 'again', { workflow: 'w1' }));
    report('sweep', new Error('nobody'));
  });
  const trace = { trace_id: traceIdOf('w1' as WorkflowId), span_id: workflowSpan('w1' as WorkflowId) };
  expect(reported.slice(0, 3)).toMatchObject([trace, trace, { ...trace, code: 'start-in-doubt' }]);
  expect(reported[3]).not.toHaveProperty('trace_id');
});

test('no secret is written, wherever it stands', () => {
  const key = `sk-proj-${'aB3dE5fG7hJ9kL1mN0pQ'.repeat(2)}`;
  const text = JSON.stringify(
    lines((logger) => {
      logLine(
        'error',
        `can't reach postgres://ana:hunter2@db/x with ${key}`,
        { url: 'redis://:s3cr3t@r:1', odd: 'redis://u:7/p@rt@r' },
        logger,
      );
      logLine('error', 'login', { password: 'hunter2', token: 't', request: { authorization: 'Bearer x' } }, logger);
    }),
  );
  for (const secret of ['hunter2', key, 's3cr3t', 'p@rt', 'rt@r', 'Bearer x', '"t"'])
    expect(text).not.toContain(secret);
  expect(text).toContain('postgres://[redacted]@db/x');
});

test('repetitions are counted, not written', () => {
  const reported = lines((logger) => {
    const report = failureReporter(logger);
    for (let at = 0; at < 5; at++) report('sweep', new Error('again'));
  });
  expect(reported).toHaveLength(1);
});
