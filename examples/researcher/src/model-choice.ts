// Which model the environment names: any server that speaks OpenAI's chat completions, else none.

import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { model } from '@tidemark/ai';
import type { Model } from '@tidemark/runtime';
import { ruleModel } from './rule-model.ts';

export function modelOf(env: NodeJS.ProcessEnv): Model {
  const { RESEARCHER_MODEL_URL: baseURL, RESEARCHER_MODEL: name, RESEARCHER_API_KEY: apiKey } = env;
  if (!baseURL || !name) return ruleModel();
  const provider = createOpenAICompatible({
    name: 'researcher',
    baseURL,
    ...(apiKey && { apiKey }),
    supportsStructuredOutputs: true,
  });
  return model(provider(name), { maxOutputTokens: 2_000, timeoutMs: 120_000 });
}
