/** How a failure is told: no credentials of an address, neither in the line nor in the stack for who asks for it. */

import { UnavailableError } from '@tidemark/core';
import { expect, test } from 'vitest';
import { outlivedReporter, reportFailure } from './failures.ts';
import { Terminal } from './terminal.ts';

test('credentials in an address are left out, those of causes too', () => {
  let written = '';
  const write = (text: string): boolean => {
    written += text;
    return true;
  };
  const stream = { write } as never;
  const cause = new Error('connect to redis://ana:hunter2@redis:6379 failed');
  const error = new UnavailableError('away', 'postgres://ana:hunter2@x@db:5432/tide is away', { cause });
  for (const json of [true, false]) {
    const env = { TIDEMARK_DEBUG: '1' };
    const terminal = new Terminal({ stdout: stream, stderr: stream, env, json });
    reportFailure(error, { terminal, env });
    outlivedReporter(terminal)('sweep', error);
  }
  expect(written).not.toMatch(/hunter2|x@db/);
  expect(written).toContain('postgres://[redacted]@db:5432/tide is away');
  expect(written).toContain('Caused by: Error: connect to redis://[redacted]@redis:6379 failed');
});
