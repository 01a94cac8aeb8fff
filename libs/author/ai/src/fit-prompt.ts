/**
 * Owns making a prompt of the AI SDK fit to be sent, by the same rules as bundles (docs/prompts.md): the SDK checks neither ids nor names,
 * and a history of another provider, or one that was trimmed, is refused at every later request. It must not touch what only the prompt's
 * author can mean: an answer that the prompt begins, and messages that continue a conversation which the provider keeps.
 */

import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import { type BundleMessage, callIds, NO_OUTPUT_TEXT, type PromptForm, portablePrompt } from '@tidemark/core';
import type { Parts } from './answer.ts';
import { isOwnCall } from './folded-content.ts';

/** Options of providers that keep the conversation: `previousResponseId`, `conversation`, `previousInteractionId`. */
const KEPT_ELSEWHERE = /^(previous|conversation)/;
/** Mistral's models, whoever serves them. */
const MISTRAL = /(mis|minis|magis)tral|mixtral|pixtral|devstral|codestral/i;

/** The form in which the model takes messages; undefined: that of most. */
export const promptFormFor = (provider: string, modelId: string): PromptForm | undefined =>
  MISTRAL.test(`${provider} ${modelId}`) ? '1-mistral' : undefined;

/** Whether the prompt continues a conversation that the provider keeps. */
export const isKeptElsewhere = (providerOptions: SharedV4ProviderOptions): boolean =>
  Object.values(providerOptions).some((options) =>
    Object.entries(options ?? {}).some(([key, value]) => KEPT_ELSEWHERE.test(key) && value != null),
  );

/** Throws what `portablePrompt` throws. */
export function fitPrompt(
  { prompt, tools = [], providerOptions = {} }: LanguageModelV4CallOptions,
  form: PromptForm,
): LanguageModelV4Prompt {
  if (isKeptElsewhere(providerOptions)) return prompt;
  const declared = new Map(tools.map(({ name }) => [name, name]));
  const { messages } = portablePrompt(prompt.map(neutral) as unknown as BundleMessage[], form, declared);
  const last = prompt.at(-1);
  const isBegun = last?.role === 'assistant' && last.content.some(says) && messages.at(-1)?.role === 'user';
  return (isBegun ? messages.slice(0, -1) : messages).map(restored);
}

/** The answer with ids that are distinct: the SDK knows a call and its result by the id alone. */
export function withOwnCallIds(parts: Parts): Parts {
  const idFor = callIds();
  const owned = (part: Parts['content'][number]) =>
    isOwnCall(part) ? { ...part, toolCallId: idFor(part.toolCallId) } : part;
  return { ...parts, content: parts.content.map(owned) };
}

/**
 * Gives the parts of a stream the ids that the whole answer has. Undefined for pieces of an input whose id doesn't tell whose they are: the
 * call that follows has it whole.
 */
export function streamedCallIds(): (part: LanguageModelV4StreamPart) => LanguageModelV4StreamPart | undefined {
  const idFor = callIds();
  const used = new Set<string>();
  const hidden = new Set<string>();
  return (part) => {
    if (part.type === 'tool-input-start' && part.providerExecuted !== true) {
      if (part.id === '' || used.has(part.id)) hidden.add(part.id);
      used.add(part.id);
    }
    if (part.type.startsWith('tool-input-') && hidden.has((part as { readonly id: string }).id)) return undefined;
    if (!isOwnCall(part)) return part;
    used.add(part.toolCallId);
    return { ...part, toolCallId: idFor(part.toolCallId) };
  };
}

type Part = Exclude<LanguageModelV4Message['content'], string>[number];
/** A part in core's form, with the SDK's beside it. */
interface NeutralPart {
  readonly type: string;
  readonly id?: string;
  readonly name?: string;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly providerOptions?: unknown;
  readonly source?: Part;
}

/** Without members that are undefined, which the SDK sets everywhere: they are no fields of a provider's. */
const defined = <T extends object>(given: T): T =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as T;

const says = (part: Part): boolean => part.type !== 'text' || part.text.trim() !== '';

const neutral = (message: LanguageModelV4Message): object => ({
  ...defined(message),
  content:
    typeof message.content === 'string'
      ? message.content
      : message.content.map((part) => neutralPart(part, message.role)),
});

function neutralPart(part: Part, role: string): NeutralPart {
  if (part.type === 'text') return defined(part);
  if (part.type === 'tool-call' && part.providerExecuted !== true) {
    const { toolCallId: id, toolName: name, input = {}, providerOptions } = part;
    return defined({ type: 'tool-call', id, name, input, providerOptions, source: part });
  }
  if (part.type !== 'tool-result' || role !== 'tool') return { type: 'opaque', source: part };
  const { output } = part;
  const said = output.type === 'text' || output.type === 'error-text' ? output.value : output;
  return { type: 'tool-result', id: part.toolCallId, name: part.toolName, output: said, source: part };
}

const restored = (message: BundleMessage): LanguageModelV4Message =>
  ({
    ...message,
    content:
      typeof message.content === 'string'
        ? message.content
        : (message.content as readonly NeutralPart[]).map(restoredPart),
  }) as LanguageModelV4Message;

function restoredPart({ source, ...part }: NeutralPart): unknown {
  if (part.type === 'opaque') return source;
  if (part.type === 'tool-call') return { ...source, toolCallId: part.id, toolName: part.name, input: part.input };
  if (part.type !== 'tool-result') return part;
  const isOwn = source !== undefined && part.output !== NO_OUTPUT_TEXT;
  const output = isOwn ? {} : { output: { type: 'text', value: part.output } };
  return { type: 'tool-result', ...source, toolCallId: part.id, toolName: part.name, ...output };
}
