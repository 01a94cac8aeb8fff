/**
 * Owns that OpenAI's Responses get what was said itself. Where the provider keeps answers, its package sends their ids, and a request is
 * refused once one is not kept any more, or never was (zero data retention, Azure). Whoever sets `store` or continues a conversation that
 * the provider keeps decides otherwise. Pure.
 */

import type { LanguageModelV4CallOptions, LanguageModelV4Message } from '@ai-sdk/provider';
import { isKeptElsewhere } from './fit-prompt.ts';
import type { SupportedModel } from './language-model.ts';

type Options = LanguageModelV4CallOptions['providerOptions'];

/** The options and messages of a call whose answer is not kept: its reasoning comes encrypted, and goes back so. */
export function unstored<Call extends Pick<LanguageModelV4CallOptions, 'prompt' | 'providerOptions'>>(
  { provider }: Pick<SupportedModel, 'provider'>,
  call: Call,
): Call {
  if (!provider.endsWith('.responses')) return call;
  const given = call.providerOptions ?? {};
  // As its package reads them: under the one name or the other.
  const isAzure = provider.includes('azure') && (given.azure !== undefined || given.openai === undefined);
  const name = isAzure ? 'azure' : 'openai';
  const store = given[name]?.store ?? isKeptElsewhere(given);
  if (store !== false) return call;
  return {
    ...call,
    providerOptions: { ...given, [name]: { ...given[name], store } },
    prompt: call.prompt.map(withoutBareReasoning),
  };
}

/** Reasoning that came as an id alone: nobody has it. */
function withoutBareReasoning(message: LanguageModelV4Message): LanguageModelV4Message {
  if (message.role !== 'assistant') return message;
  const whole = new Set(
    message.content.flatMap(({ providerOptions }) => {
      const { itemId, reasoningEncryptedContent: sealed } = ownOf(providerOptions);
      return sealed == null ? [] : [itemId];
    }),
  );
  const content = message.content.filter((part) => {
    const { itemId } = ownOf(part.providerOptions);
    return part.type !== 'reasoning' || itemId === undefined || whole.has(itemId);
  });
  return { ...message, content };
}

const ownOf = (options: Options = {}): Readonly<Record<string, unknown>> => options.azure ?? options.openai ?? {};
