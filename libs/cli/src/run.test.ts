/** `tidemark run`, spawned, on a folder: what it prints, what it exits with, and what survives a kill. */

import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { AGENTS, cliFolder } from './spawned-cli.ts';

/** Several commands, each a process of its own, on a busy machine. */
const TIMEOUT_MS = 240_000;

describe('a run in a process of its own', () => {
  it(
    'prints its output, and is the same run when it is asked for again',
    async (context) => {
      const { folder, call, here } = await cliFolder(context);
      const ran = await call('run', 'greet', '--id', 'g1', '--input', '{"name":"Ada"}', '--workflows', AGENTS);
      expect([ran.code, JSON.parse(ran.out)]).toEqual([0, { text: 'Hello, Ada!' }]);
      expect(ran.err).toMatch(/#1 compose: composed a greeting for Ada/);
      expect(ran.err).not.toContain('\u001b[');

      const other = await here('run', 'greet', '--id', 'g1', '--input', '{"name":"Bo"}', '--workflows', AGENTS);
      expect([other.code, JSON.parse(other.out)]).toEqual([0, { text: 'Hello, Ada!' }]);
      expect(other.err).toContain('was started with another input');

      const { out } = await here('show', 'g1', '--json', '--checkpoints', '--events');
      const shown = JSON.parse(out);
      expect(shown).toMatchObject({
        input: { name: 'Ada' },
        belief: { greeting: 'Hello, Ada!' },
        output: { text: 'Hello, Ada!' },
        frontier: [],
        checkpoints: [
          { sequence_number: 1, step_definition_ref: 'compose', parent_checkpoint_id: null, status: 'committed' },
          { sequence_number: 2, step_definition_ref: 'say' },
        ],
        events: [{ type: 'WorkflowCompleted' }],
      });
      expect(shown.checkpoints[1].parent_checkpoint_id).toBe(shown.checkpoints[0].checkpoint_id);
      // Nothing but the log and the rows stays behind.
      await expect(stat(path.join(folder, '.tidemark', 'tidemark.sock'))).rejects.toThrow(/ENOENT/);
    },
    TIMEOUT_MS,
  );

  it(
    'fails with 1 and one line when the workflow fails',
    async (context) => {
      const { call } = await cliFolder(context);
      const ran = await call('run', 'broken', '--id', 'b1', '--workflows', AGENTS);
      expect([ran.code, ran.out]).toEqual([1, '']);
      expect(ran.err).toMatch(/^error: b1 failed \(out-of-reach\): the thing is out of reach$/m);
      expect(ran.err).not.toContain('    at ');
    },
    TIMEOUT_MS,
  );
});

describe('whoever is killed', () => {
  it(
    'leaves a run that goes on from its last checkpoint and repeats no step that was done',
    async (context) => {
      const { folder, start, call, here } = await cliFolder(context);
      const journal = path.join(folder, 'journal');
      const input = JSON.stringify({ to: 30, journal, pauseMs: 30 });
      const first = start('run', 'count-up', '--id', 'c1', '--input', input, '--workflows', AGENTS);
      await first.says(/#7 tick/);
      await first.kill();

      const shown = JSON.parse((await here('show', 'c1', '--json')).out);
      expect(shown).toMatchObject({ status: 'open', activity: 'ready' });
      expect(shown.sequence_number).toBeGreaterThanOrEqual(7);

      const second = await call('run', 'count-up', '--id', 'c1', '--workflows', AGENTS);
      expect([second.code, JSON.parse(second.out)]).toEqual([0, { reached: 30 }]);
      expect(second.err).toMatch(/goes on from checkpoint #\d+/);
      const attempts = (await readFile(journal, 'utf8')).trim().split('\n').map(Number);
      expect(new Set(attempts).size).toBe(30);
      // The step that was under way is the only one that may have run twice.
      expect(attempts.length).toBeLessThanOrEqual(31);
    },
    TIMEOUT_MS,
  );
});
