/**
 * Owns the tests of what a failed test prints beside its error: lines of its processes, and the logs of its own servers, even those that
 * ended.
 */

import { channel } from 'node:diagnostics_channel';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { endLog, noteLine, noteLog, noteOutput, tailsIn, takeEvidence } from './evidence.ts';

test('is the newest lines of processes, once, and the ends of logs', async ({ onTestFinished }) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-evidence-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const [runs, ended] = [path.join(folder, 'runs.log'), path.join(folder, 'ended.log')];
  await writeFile(runs, Array.from({ length: 100 }, (_, at) => `line ${at}`).join('\n'));
  await writeFile(ended, 'panic\n');
  takeEvidence();

  for (let at = 0; at < 300; at++) noteLine('worker', `turn ${at}`);
  noteOutput('coordinator')('started\n\nstopped\n');
  channel('tidemark:test-output').publish({ source: 'tidemark ls', text: 'ended with 78' });
  noteLog('redis', runs);
  noteLog('kafka', ended);
  endLog(ended);
  await rm(ended);

  const lines = takeEvidence().split('\n');
  expect(lines.slice(0, 2)).toEqual(['--- processes', 'worker: turn 103']);
  expect(lines).toEqual(expect.arrayContaining(['coordinator: stopped', 'tidemark ls: ended with 78', 'panic']));
  expect(lines.slice(-3)).toEqual(['line 97', 'line 98', 'line 99']);
  expect(lines).not.toContain('line 10');
  expect(takeEvidence()).not.toContain('worker');
  expect(tailsIn(folder)).toContain('line 99');
  endLog(runs);
});
