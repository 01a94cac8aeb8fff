/** Each fault of each family, whole and streamed, as a model tells it to the runtime; fault-runs.test.ts has the runs, over real HTTP. */

import { readFileSync } from 'node:fs';
import { model } from '@tidemark/ai';
import { type EffectKey, LimitError } from '@tidemark/core';
import { type Model, NotDoneError, type Usage } from '@tidemark/runtime';
import { expect, test } from 'vitest';
import { CASES, nameOf } from './fault-runs.ts';
import { expectedOf, pageRows } from './fault-table.ts';
import { LOCAL, Provider } from './server.ts';

const prompt = {
  messages: [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Where is order A-4411?' }] }],
  raw: undefined,
  tools: [],
  responseSchema: null,
  settings: { maxOutputTokens: 500 },
};

/** All ask for 20 s; one by a date, which comes closer meanwhile. */
const WAIT_MIN_MS = 10_000;
const WAIT_MAX_MS = 20_000;

interface Thrown {
  readonly code: string;
  readonly details: { readonly retryAfterMs?: number };
  readonly received?: { readonly usage: Usage | undefined };
}

/** The code of its error, whether it certainly cost nothing, whether it is final, and says how long to wait; or why the answer ended. */
async function told(asked: Model, isStreamed: boolean) {
  const { signal } = new AbortController();
  const context = { key: 'w:0.0:model:0' as EffectKey, signal, onDelta: () => {}, promptTokens: 20 };
  return asked.answer(prompt, context, isStreamed).then(
    ({ finishReason: finish }) => ({ code: null, finish, isFree: false, isFinal: false, isTimed: false }),
    (error: Thrown) => {
      const { retryAfterMs = 0 } = error.details;
      return {
        code: error.code,
        finish: null,
        isFree: error instanceof NotDoneError || error.received?.usage?.inputTokens === 0,
        isFinal: asked.retry.nonRetryable.includes(error.code) || error instanceof LimitError,
        isTimed: retryAfterMs >= WAIT_MIN_MS && retryAfterMs <= WAIT_MAX_MS,
      };
    },
  );
}

test.each(CASES.map((each) => [nameOf(each), each] as const))('%s', async (name, { family, fault, isStreamed }) => {
  const provider = new Provider(family);
  provider.script({ fault });
  const { code, finish, paid, run } = expectedOf(name);
  expect(await told(model(family.languageModel(provider.fetch, LOCAL)), isStreamed)).toEqual({
    code,
    finish,
    isFree: paid === 'nothing',
    isFinal: run === 'asks',
    isTimed: fault === 'rate-limited-with-wait',
  });
});

test('the page shows the table', () => {
  const page = readFileSync(new URL('../../docs/prompts.md', import.meta.url), 'utf8');
  for (const row of pageRows()) expect(page).toContain(row);
});
