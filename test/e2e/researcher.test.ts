/**
 * The researcher as a process that is killed: it goes on from its newest checkpoint, its answer is that of an uninterrupted run, and
 * every model call's bundle is the same bytes before the kill and after the resumption (I4, I8).
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { workflowId } from '@tidemark/core';
import { openEmbedded } from '@tidemark/host';
import { rebuildCalls } from '@tidemark/runtime';
import { eventually } from '@tidemark/testkit/eventually';
import { noteOutput } from '@tidemark/testkit/evidence';
import { tokenizerById } from '@tidemark/tokenizer';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runSeed } from '../run-seed.ts';
import { randomFrom } from './source-tree.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const MAIN = path.join(ROOT, 'examples/researcher/src/main.ts');
const QUESTION = 'What happens to an irreversible effect when its worker dies?';
const TIMEOUT_MS = 300_000;
const KILLS = 3;
const seed = runSeed();

let folder: string;
const at = (name: string): string => path.join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-researcher-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

class Process {
  readonly #child: ChildProcess;
  readonly ended: Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>;
  stdout = '';
  stderr = '';
  #onText: () => void = () => {};

  constructor(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const inherited = Object.entries(process.env).filter(
      ([name]) => !/^(?:RESEARCHER_|TIDEMARK_KAFKA|FORCE_COLOR)/.test(name),
    );
    this.#child = spawn(process.execPath, [...args], {
      cwd: ROOT,
      env: { ...Object.fromEntries(inherited), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.#child.stdout!, this.#child.stderr!]) stream.on('data', noteOutput('researcher'));
    this.#child.stdout!.on('data', (chunk: Buffer) => {
      this.stdout += chunk;
      this.#onText();
    });
    this.#child.stderr!.on('data', (chunk: Buffer) => {
      this.stderr += chunk;
    });
    this.ended = once(this.#child, 'close').then(([code]) => ({ code, stdout: this.stdout, stderr: this.stderr }));
  }

  /** The newest checkpoint that it told. */
  get checkpoint(): number {
    return Number([...this.stdout.matchAll(/^#(\d+) /gm)].at(-1)?.[1] ?? 0);
  }

  /** Ends it, as a lost machine would, so long after it has told the checkpoint. */
  async killAfter(checkpoint: number, delayMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onText = () => this.checkpoint >= checkpoint && resolve();
    this.#onText();
    await Promise.race([promise, this.ended]);
    setTimeout(() => this.#child.kill('SIGKILL'), delayMs);
    await this.ended;
  }
}

const research = (state: string, ...more: string[]): Process =>
  new Process([MAIN, QUESTION, 'docs', '--state', at(state), '--pause', '100ms', ...more]);

/** What it answered, with its sources. */
function reportIn(stdout: string): string {
  const report = /\n\n([\s\S]*)\n\nEvery model call/.exec(stdout)?.[1];
  if (report === undefined) throw new Error(`no report in:\n${stdout}`);
  return report.trim();
}

const idIn = (stdout: string): string => /bundle (research-\w+)/.exec(stdout)![1]!;

interface History {
  /** By checkpoint: the digest of what its model call was sent. */
  readonly bundles: ReadonlyMap<number, string>;
  readonly steps: readonly string[];
}

/** From a state folder that nobody holds; what a killed process left in the log is projected first. */
async function historyOf(id: string, state: string, checkpoint: number): Promise<History> {
  const host = await openEmbedded({ folder: at(state) });
  try {
    const run = host.client.run(id);
    await eventually(async () => ((await run.summary())?.sequence ?? 0) >= checkpoint);
    const rows = await run.checkpoints();
    const bundles = new Map<number, string>();
    for (const { sequence, step } of rows) {
      if (step === 'act') continue;
      const { calls } = await rebuildCalls({ ...host.ports, tokenizerById }, workflowId(id), sequence);
      // One call each: none was paid twice.
      expect(calls).toHaveLength(1);
      const [{ sent, rebuilt, status }] = calls as [(typeof calls)[0]];
      expect({ sequence, status, rebuilt }).toEqual({ sequence, status: 'done', rebuilt: sent });
      bundles.set(sequence, rebuilt!);
    }
    return { bundles, steps: rows.map(({ step, lastAction }) => `${step}: ${lastAction}`) };
  } finally {
    await host.close();
  }
}

describe(`killed at random places (TIDEMARK_TEST_SEED=${seed})`, () => {
  it('answers the same, and every bundle is the one that was sent', { timeout: TIMEOUT_MS }, async () => {
    const whole = await research('whole').ended;
    expect(whole).toMatchObject({ code: 0, stderr: '' });
    const id = idIn(whole.stdout);
    const checkpoints = Number([...whole.stdout.matchAll(/^#(\d+) /gm)].at(-1)![1]);

    const random = randomFrom(seed);
    let newest = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      const life = research('killed');
      const wanted = 1 + Math.floor(((kill + random()) / KILLS) * (checkpoints - 2));
      await life.killAfter(wanted, Math.floor(random() * 150));
      newest = Math.max(newest, life.checkpoint);
    }
    const before = await historyOf(id, 'killed', newest);
    const last = await research('killed').ended;
    expect(last).toMatchObject({ code: 0, stderr: '' });
    expect(last.stdout).toMatch(/resumes from checkpoint \d+\./);
    expect(reportIn(last.stdout)).toBe(reportIn(whole.stdout));

    const after = await historyOf(id, 'killed', checkpoints);
    expect(before.bundles.size).toBeGreaterThan(0);
    expect([...after.bundles].slice(0, before.bundles.size)).toEqual([...before.bundles]);
    // Tool calls of one thought run side by side and end in any order; else it is the uninterrupted run, step by step.
    const reference = await historyOf(id, 'whole', checkpoints);
    expect(after.steps.toSorted()).toEqual(reference.steps.toSorted());
  });
});

describe('what it answers', () => {
  it('follows from the folder and the question, and is recorded', { timeout: TIMEOUT_MS }, async () => {
    await mkdir(at('zoo/birds'), { recursive: true });
    await writeFile(at('zoo/birds/owl.md'), '# Owls\n\nThe barn owl hunts at night and sleeps in the tower.\n');
    await writeFile(at('zoo/fish.txt'), 'The carp lives in the pond behind the tower.\n');
    // A character that the cut of a long passage tears, and one that no text store takes.
    await writeFile(at('zoo/odd.txt'), `The lynx\0 sleeps on a branch. A${'a'.repeat(1_168)}${'🦉'.repeat(9)}\n`);
    const ask = (question: string) => new Process([MAIN, question, at('zoo'), '--state', at('zoo.state')]).ended;
    const owl = reportIn((await ask('When does the owl hunt?')).stdout);
    expect(owl).toContain('The barn owl hunts at night and sleeps in the tower. [1]');
    expect(owl).toMatch(/\[1\] .*birds\/owl\.md:3$/);
    expect(reportIn((await ask('Where does the carp live?')).stdout)).toMatch(/\[1\] .*fish\.txt:1$/);
    expect(reportIn((await ask('Where does the lynx sleep?')).stdout)).toContain('The lynx sleeps on a branch. [1]');
    expect((await ask('Who pays taxes?')).stdout).toContain('The files say nothing of it.');
    // Asked again, it is the recorded answer, whatever the files say by now.
    await rm(at('zoo'), { recursive: true });
    expect(reportIn((await ask('When does the owl hunt?')).stdout)).toBe(owl);
  });

  it('comes from the model that the environment names', { timeout: TIMEOUT_MS }, async () => {
    const server = await startModel([
      { calls: [['search', { words: 'fence' }]] },
      {
        calls: [
          ['read', { source: 'effects.md:1' }],
          ['fly', {}],
        ],
      },
      { text: 'Enough.' },
      { text: JSON.stringify({ answer: 'It keeps others out.', sources: ['invented.md:1'] }) },
    ]);
    try {
      const env = { RESEARCHER_MODEL_URL: server.url, RESEARCHER_MODEL: 'tiny', RESEARCHER_API_KEY: 'none' };
      const asked = new Process([MAIN, 'What does a fence do?', 'docs', '--state', at('model.state')], env);
      const { code, stdout } = await asked.ended;
      expect(stdout).toContain('Model: researcher.chat tiny.');
      expect(code).toBe(0);
      // What it says it has read counts only where it has.
      expect(reportIn(stdout)).toBe('It keeps others out.');
      expect(server.bodies).toHaveLength(4);
      expect(server.bodies[2]).toContain('There is no tool named');
    } finally {
      await server.close();
    }
  });
});

interface ModelAnswer {
  readonly text?: string;
  readonly calls?: readonly (readonly [name: string, input: object])[];
}

/** Answers as OpenAI's chat completions do, with one after the other. */
async function startModel(answers: readonly ModelAnswer[]) {
  const bodies: string[] = [];
  const server = http.createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { text = null, calls = [] } = answers[bodies.push(body) - 1] ?? { text: 'No more.' };
    const tool_calls = calls.map(([name, input], index) => ({
      id: `call-${bodies.length}-${index}`,
      type: 'function',
      function: { name, arguments: JSON.stringify(input) },
    }));
    const message = { role: 'assistant', content: text, ...(calls.length > 0 && { tool_calls }) };
    const choice = { index: 0, message, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' };
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({
        ...{ id: `c${bodies.length}`, object: 'chat.completion', created: 1, model: 'tiny', choices: [choice] },
        usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 },
      }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    bodies,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}
