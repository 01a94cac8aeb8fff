import { APICallError } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { describe, expect, it } from 'vitest';
import { merge } from './facts/merge.ts';
import { parseFile } from './facts/parse-file.ts';
import { MAX_PROMPT_CHARS, MAX_SUMMARY_CHARS, MAX_SUMMARY_TOKENS } from './limits.ts';
import { modelFromEnvironment } from './model-choice.ts';
import { modulePrompt } from './module-prompt.ts';
import { askForSummary, openModel } from './summarise.ts';

const discovery = {
  label: 'tree',
  packages: [],
  skipped: [],
  skippedCut: 0,
  filesCut: 0,
  symlinks: 0,
};
const files = (count: number) =>
  Array.from({ length: count }, (_, i) =>
    parseFile(
      `lib/f${i}.ts`,
      new TextEncoder().encode(`import x from './f0.ts';\nexport const exported${i} = eval(x);`),
    ),
  );
const module = (count: number) => merge(discovery, files(count)).modules[0]!;
const asked = (count: number) => modulePrompt(module(count), files(count));

type Answer = Awaited<ReturnType<MockLanguageModelV4['doGenerate']>>;
const answer = (text: string): Answer => ({
  content: [{ type: 'text', text }],
  finishReason: { unified: 'stop', raw: undefined },
  usage: {
    inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 20, text: 20, reasoning: undefined },
  },
  warnings: [],
});
const choice = (doGenerate: MockLanguageModelV4['doGenerate']) => {
  const model = new MockLanguageModelV4({ doGenerate });
  return { model, name: 'mock' };
};
const refused = (statusCode: number, message: string, isRetryable: boolean) =>
  new APICallError({ message, url: 'https://model.example/v1', requestBodyValues: {}, statusCode, isRetryable });

describe('modulePrompt', () => {
  it('is the same for any order of the files, and holds the facts', () => {
    const facts = files(3);
    const made = modulePrompt(module(3), facts);
    expect(modulePrompt(module(3), [...facts].reverse())).toEqual(made);
    expect(made.prompt).toContain('folder: lib (3 files, 6 lines, 0 functions)');
    expect(made.prompt).toContain('finding: high dynamic-code at lib/f0.ts:2');
    expect(made.prompt).toContain('file: lib/f2.ts (2 lines, parsed) exports: exported2; imports: ./f0.ts');
  });

  it('stays within its bound and counts what it leaves out', () => {
    const { prompt } = modulePrompt(module(500), files(500));
    expect(prompt.length).toBeLessThanOrEqual(MAX_PROMPT_CHARS);
    expect(prompt).toMatch(/\(\d+ more lines left out\)\nEND FACTS$/);
  });
});

describe('askForSummary', () => {
  it('returns the text and the usage', async () => {
    const mock = choice(async () => answer('  A folder of evals.\n'));
    expect(await askForSummary(mock, asked(2))).toEqual({
      ok: true,
      text: 'A folder of evals.',
      model: 'mock',
      usage: { inputTokens: 10, outputTokens: 20 },
    });
    const [call] = mock.model.doGenerateCalls;
    expect(call).toMatchObject({ maxOutputTokens: MAX_SUMMARY_TOKENS });
    expect(JSON.stringify(call!.prompt)).toContain('lib/f1.ts');
  });

  it('bounds a long answer and refuses an empty one', async () => {
    const long = await askForSummary(
      choice(async () => answer('word '.repeat(5_000))),
      asked(1),
    );
    expect(long.ok && long.text.length).toBe(MAX_SUMMARY_CHARS);
    const empty = await askForSummary(
      choice(async () => answer(' ')),
      asked(1),
    );
    expect(empty).toMatchObject({ ok: false, retryable: true });
  });

  it("asks once: trying again is the workflow's business", async () => {
    const mock = choice(async () => {
      throw refused(503, 'overloaded', true);
    });
    expect(await askForSummary(mock, asked(1))).toEqual({
      ok: false,
      reason: 'mock failed (status 503: overloaded)',
      retryable: true,
    });
    expect(mock.model.doGenerateCalls).toHaveLength(1);
  });

  it('shows nothing of a key', async () => {
    const key = `sk-${'proj'}-q7Zr2mX9wK4vB8nT1cJ6yH3d`;
    const failing = (error: Error) =>
      choice(async () => {
        throw error;
      });
    const answers = [
      await askForSummary(
        failing(refused(401, `Incorrect API key provided: ${key.slice(0, 9)}***${key.slice(-4)}`, false)),
        asked(1),
      ),
      await askForSummary(failing(refused(400, `bad header Bearer ${key}`, false)), asked(1)),
      await askForSummary(failing(new Error(`cannot connect with ${key}`)), asked(1)),
    ];
    for (const result of answers) {
      expect(result).toMatchObject({ ok: false, retryable: false });
      expect(JSON.stringify(result)).not.toMatch(/q7Zr|yH3d/);
    }
  });

  it('stops when it is told to', async () => {
    const mock = choice(async ({ abortSignal }) => {
      abortSignal?.throwIfAborted();
      return answer('late');
    });
    expect(await askForSummary(mock, asked(1), AbortSignal.abort())).toMatchObject({ ok: false });
  });
});

describe('modelFromEnvironment', () => {
  it('goes by the keys that are set', () => {
    expect(modelFromEnvironment({})).toBeUndefined();
    expect(modelFromEnvironment({ OPENAI_API_KEY: '' })).toBeUndefined();
    expect(modelFromEnvironment({ OPENAI_API_KEY: 'k', AI_GATEWAY_API_KEY: 'g' })?.name).toBe('openai/gpt-4.1-mini');
    expect(modelFromEnvironment({ AI_GATEWAY_API_KEY: 'g' })?.name).toBe('openai/gpt-4.1-mini');
    expect(modelFromEnvironment({ OPENAI_API_KEY: 'k', AUDIT_MODEL: 'other' })?.name).toBe('openai/other');
    const opened = (env: Record<string, string>) => openModel(modelFromEnvironment(env)!).model;
    expect(opened({ OPENAI_API_KEY: 'k', OPENAI_BASE_URL: '' })).toMatchObject({ provider: 'openai.responses' });
    const local = opened({ OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' });
    expect(local).toMatchObject({ provider: 'openai.chat' });
  });

  it('reports a server that cannot be reached, without throwing', async () => {
    const choice = modelFromEnvironment({ OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' })!;
    expect(await askForSummary(openModel(choice), asked(1))).toMatchObject({ ok: false, retryable: true });
  });
});
