// Owns which model the environment provides. Loads no model library: most audits run without one.

export type ModelChoice = {
  provider: 'openai' | 'gateway';
  id: string;
  apiKey: string;
  /** Of another server that speaks OpenAI's chat completions. */
  baseURL: string | undefined;
  /** To show. */
  name: string;
};

export const DEFAULT_OPENAI_MODEL = 'gpt-4.1-mini';
export const DEFAULT_GATEWAY_MODEL = 'openai/gpt-4.1-mini';

/**
 * The choice of the environment, or undefined when it has no key. OPENAI_API_KEY (with OPENAI_BASE_URL), else
 * AI_GATEWAY_API_KEY. AUDIT_MODEL names another model than the default. What is empty is not set.
 */
export function modelFromEnvironment(env: Readonly<Record<string, string | undefined>>): ModelChoice | undefined {
  const { OPENAI_API_KEY: openAiKey, AI_GATEWAY_API_KEY: gatewayKey, AUDIT_MODEL: wanted } = env;
  if (openAiKey) {
    const id = wanted || DEFAULT_OPENAI_MODEL;
    const baseURL = env.OPENAI_BASE_URL || undefined;
    return { provider: 'openai', id, apiKey: openAiKey, baseURL, name: `openai/${id}` };
  }
  if (gatewayKey) {
    const id = wanted || DEFAULT_GATEWAY_MODEL;
    return { provider: 'gateway', id, apiKey: gatewayKey, baseURL: undefined, name: id };
  }
  return undefined;
}
