/**
 * Owns a stand-in for the runtime in tests: records each model call by its place in the step and its request, as JSON, and returns the
 * recorded answer to every later attempt. Must not be kinder than the runtime: what isn't JSON is lost.
 */

import { isDeepStrictEqual } from 'node:util';
import type { EffectKey } from '@tidemark/core';
import type { ModelAnswer, ModelDelta, ModelRequest } from '@tidemark/runtime';
import type { ModelCaller } from './middleware.ts';

/** What a prompt is said to have. */
export const PROMPT_TOKENS = 9;

interface Recorded {
  readonly request: unknown;
  readonly answer: string;
}

export class FakeStep {
  readonly journal: Recorded[] = [];
  readonly deltas: ModelDelta[] = [];
  /** How often a model was really called. */
  asked = 0;
  readonly controller = new AbortController();

  /** The context of one attempt at the step. */
  attempt(): ModelCaller {
    let next = 0;
    return {
      modelCall: (request) => {
        const ordinal = next;
        next += 1;
        return this.#call(ordinal, request);
      },
    };
  }

  async #call(ordinal: number, request: ModelRequest): Promise<ModelAnswer> {
    const { model, ...rest } = request;
    const asked = JSON.parse(JSON.stringify({ ...rest, modelId: model.modelId })) as unknown;
    const known = this.journal[ordinal];
    if (known !== undefined) {
      if (!isDeepStrictEqual(known.request, asked)) throw new Error('request-changed');
      return JSON.parse(known.answer) as ModelAnswer;
    }
    this.asked += 1;
    const context = {
      key: `w:0.0:model:${ordinal}` as EffectKey,
      signal: this.controller.signal,
      onDelta: (delta: ModelDelta) => void this.deltas.push(delta),
      promptTokens: PROMPT_TOKENS,
    };
    const prompt = {
      messages: request.messages ?? [],
      raw: request.rawPrompt,
      tools: request.tools ?? [],
      responseSchema: request.responseSchema ?? null,
      settings: request.settings ?? null,
    };
    const given = await model.answer(prompt, context, request.isStreamed === true);
    const answer: ModelAnswer = { ...given, costMicros: model.costMicros(given.usage) ?? null, latencyMs: 1 };
    this.journal[ordinal] = { request: asked, answer: JSON.stringify(answer) };
    return JSON.parse(this.journal[ordinal].answer) as ModelAnswer;
  }
}
