import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

/** What a service prints that does this while it starts: each line as an object, or as text where it is none. */
function printedBy(work: string) {
  const program = `import { runService } from ${JSON.stringify(new URL('./service.ts', import.meta.url).href)};
    await runService('worker', async () => { ${work} });`;
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    ...{ cwd: import.meta.dirname, encoding: 'utf8' as const },
  });
  expect(stdout).toBe('');
  const lines = stderr.trimEnd().split('\n');
  return { lines: lines.map((line) => JSON.parse(line) as Record<string, unknown>), status };
}

test('a service prints nothing but log lines, whoever prints', () => {
  const { lines, status } = printedBy(`
    console.log('rows: %d\\nof %s', 7, 'x');
    console.table([{ a: 1 }]);
    for (let at = 0; at < 300; at++) console.warn('[WARN] a library says it again');
    process.emitWarning('old', 'DeprecationWarning', 'DEP0001');
    await new Promise((resolve) => setImmediate(resolve));
    setTimeout(() => { throw new Error('a bug'); });
    await new Promise((resolve) => setTimeout(resolve, 60_000));`);
  expect(lines).toMatchObject([
    { level: 'info', where: 'console', message: 'rows: 7\nof x' },
    { level: 'info', where: 'console', message: expect.stringContaining('│') },
    { level: 'warn', where: 'console', message: '[WARN] a library says it again' },
    { level: 'warn', where: 'node', message: 'old' },
    { level: 'error', code: 'internal', message: 'a bug', stack: expect.stringContaining('Error: a bug\n') },
  ]);
  expect(status).toBe(70);
});

test('what fails unawaited ends the process by a line as well', () => {
  const { lines, status } = printedBy(
    `Promise.reject(new TypeError('nobody waits')); await new Promise((resolve) => setTimeout(resolve, 60_000));`,
  );
  expect(lines).toMatchObject([{ level: 'error', message: 'nobody waits' }]);
  expect(status).toBe(70);
});
