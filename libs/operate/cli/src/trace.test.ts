/**
 * A run's trace by command: what a collector got live, from a process that was killed in the middle and from the one that went on, is what
 * `trace export` draws later, id for id, from the log and from the archive.
 */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { jsonSpans, type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '@tidemark/testkit/otlp-receiver';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { CalledCli, callCli, hold } from './called-cli-fixture.ts';
import { AGENTS, SpawnedCli } from './spawned-cli-fixture.ts';

let cwd: string;
let receiver: OtlpReceiver;
beforeEach(async () => {
  cwd = await mkdtemp(path.join(tmpdir(), 'tidemark-trace-'));
  receiver = await startOtlpReceiver();
});
afterEach(async () => {
  await receiver.close();
  await rm(cwd, { recursive: true, force: true });
});

const call = (...args: string[]) => callCli([...args, '--state', 'state'], { cwd });
const dev = () => ['dev', '--workflows', AGENTS, '--state', 'state', '--otlp', receiver.endpoint];

const bySpan = (a: ReceivedSpan, b: ReceivedSpan): number => (a.spanId < b.spanId ? -1 : 1);

async function exported(file: string): Promise<readonly ReceivedSpan[]> {
  const { code, err } = await call('trace', 'export', 'c1', '--file', file);
  expect([code, err]).toEqual([0, expect.stringContaining(file)]);
  return [...jsonSpans(JSON.parse(await readFile(path.join(cwd, file), 'utf8')))].sort(bySpan);
}

it('is the same live, from the log and from the archive, also of a run that was killed in the middle', async (context) => {
  const first = new SpawnedCli(dev(), cwd);
  await first.says(/stop +Ctrl-C/);
  const input = JSON.stringify({ to: 12, pauseMs: 150, journal: path.join(cwd, 'journal') });
  expect((await call('run', 'count-up', '--id', 'c1', '--input', input, '--detach')).code).toBe(0);
  await first.says(/#4 tick/);
  await first.kill();
  const second = new CalledCli(dev(), { cwd });
  await second.says(/completed/);
  await second.interrupt();

  const later = await exported('trace.json');
  const live = new Map(receiver.spans.map((span) => [span.spanId, span]));
  expect([...live.values()].sort(bySpan)).toEqual(later);
  expect(later.filter(({ name }) => name === 'recovery')).toHaveLength(1);
  expect(later.filter(({ parentSpanId }) => parentSpanId === '')).toHaveLength(1);
  const ids = new Set(later.map(({ spanId }) => spanId));
  expect(later.every(({ parentSpanId }) => parentSpanId === '' || ids.has(parentSpanId))).toBe(true);
  // What was sent and not yet marked as sent when the process was killed comes once more, and nothing else.
  expect(receiver.spans.length - live.size).toBeLessThan(live.size);

  await expect
    .poll(async () => JSON.parse((await call('admin', 'compact', '--older-than', '1s', '--json')).out))
    .toMatchObject({ segments: 1 });
  context.onTestFinished(await hold({ cwd, state: 'state' }));
  expect(await exported('archived.json')).toEqual(later);
  expect(await readFile(path.join(cwd, 'archived.json'))).toEqual(await readFile(path.join(cwd, 'trace.json')));

  const before = receiver.spans.length;
  expect((await call('trace', 'export', 'c1', '--otlp', receiver.endpoint)).code).toBe(0);
  expect([...receiver.spans.slice(before)].sort(bySpan)).toEqual(later);

  const { out } = await call('trace', 'show', 'c1');
  expect(out).toMatch(/^trace [0-9a-f]{32}, \d+ spans\n\ninvoke_workflow count-up .*completed\n/);
  expect(out).toMatch(/├ lease 1 .*x.*holder-dead\n/);
  expect(out).toMatch(/step tick × \d+ /);
  expect((await call('trace', 'show', 'c1', '--all')).out).not.toContain('×');
});

it('says what is missing', async () => {
  expect(await call('trace', 'export', 'c1')).toMatchObject({ code: 78, err: expect.stringContaining('--otlp') });
  const err = expect.stringMatching(/the folder none is not there.*Make it first/);
  expect(await call('trace', 'export', 'c1', '--file', 'none/trace.json')).toMatchObject({ code: 65, err });
  const folder = { code: 65, err: 'error: --file: . is a folder. Name a file in it.\n' };
  expect(await call('trace', 'export', 'c1', '--file', '.')).toMatchObject(folder);
  expect(await call('trace', 'show', 'nobody')).toMatchObject({ code: 78 });
});
