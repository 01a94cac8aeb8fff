/**
 * Owns translating a prompt of the runtime to the SDK's provider interface: messages, tools, schema, settings. Invariant: every setting is
 * known and checked: one that a provider would silently ignore is refused by its name.
 */

import type { LanguageModelV4CallOptions, LanguageModelV4FunctionTool, LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { BundleMessage, Json } from '@tidemark/core';
import type { ModelPrompt, ToolSpec } from '@tidemark/runtime';
import { z } from 'zod';
import { checked, invalid } from './checked.ts';
import type { SupportedModel } from './language-model.ts';
import { OUTPUT_TOKENS_MAX_COUNT } from './limits.ts';
import { messageOf } from './prompt-message.ts';
import { toldCalls } from './told-calls.ts';
import { unstored } from './unstored.ts';

/** Most stop sequences of one call. */
const STOP_SEQUENCES_MAX_COUNT = 64;

const jsonObject = z.record(z.string(), z.json());

const settingsSchema = z
  .strictObject({
    maxOutputTokens: z.int().min(1).max(OUTPUT_TOKENS_MAX_COUNT),
    temperature: z.number().min(0),
    topP: z.number().min(0).max(1),
    topK: z.number().positive(),
    presencePenalty: z.number(),
    frequencyPenalty: z.number(),
    stopSequences: z.array(z.string().min(1)).max(STOP_SEQUENCES_MAX_COUNT),
    seed: z.int(),
    /** How hard the model thinks. Providers of the older interface have it in their provider options. */
    reasoning: z.enum(['provider-default', 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']),
    /** `auto`, `none`, `required`, or the tool that must be called. */
    toolChoice: z.union([z.enum(['auto', 'none', 'required']), z.strictObject({ tool: z.string().min(1) })]),
    /** Name and description of the answer's schema, which some providers show to the model. */
    responseName: z.string().min(1),
    responseDescription: z.string().min(1),
    /** By provider, as its SDK documents them. Recorded: no place for a key. */
    providerOptions: z.record(z.string(), jsonObject),
  })
  .partial();

/** Options of a call beyond its messages. */
export type ModelSettings = z.input<typeof settingsSchema>;

/** Options that all calls of a model share. */
export interface Asking {
  readonly languageModel: SupportedModel;
  /** Cap on the answer where the call sets none; undefined: the provider's own. */
  readonly maxOutputTokens: number | undefined;
}

/** Throws `InvalidError` (`model-settings-invalid`) that names the setting. */
export function callOptions(asking: Asking, prompt: ModelPrompt): LanguageModelV4CallOptions {
  const { languageModel, maxOutputTokens } = asking;
  const settings = settingsOf(languageModel, prompt);
  const { toolChoice, responseName, responseDescription, ...plain } = settings;
  return unstored(languageModel, {
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(plain as Partial<LanguageModelV4CallOptions>),
    ...(prompt.responseSchema !== null && lenient(languageModel, prompt.responseSchema, settings.providerOptions)),
    prompt:
      (prompt.raw as LanguageModelV4Prompt | undefined) ??
      messagesFor(languageModel, prompt).map((message) => messageOf(message, languageModel)),
    ...(prompt.tools.length > 0 && { tools: prompt.tools.map(toolOf) }),
    ...(toolChoice !== undefined && { toolChoice: choiceOf(toolChoice) }),
    ...(prompt.responseSchema !== null && {
      responseFormat: {
        type: 'json',
        schema: prompt.responseSchema as object,
        ...(responseName !== undefined && { name: responseName }),
        ...(responseDescription !== undefined && { description: responseDescription }),
      },
    }),
  });
}

/** Bedrock takes calls and results only beside tools: without any its SDK would leave both out, and the model never see a result. */
const messagesFor = ({ provider }: SupportedModel, { messages, tools }: ModelPrompt): readonly BundleMessage[] =>
  tools.length === 0 && provider.startsWith('amazon-bedrock') ? toldCalls(messages) : messages;
/**
 * Providers with OpenAI's interface are asked by their packages to hold an answer to its schema strictly, which they refuse where a member
 * may be left out, or members have any name.
 */
function lenient(
  { provider }: SupportedModel,
  schema: Json,
  given: LanguageModelV4CallOptions['providerOptions'] = {},
): Pick<LanguageModelV4CallOptions, 'providerOptions'> | undefined {
  const name = provider.split('.')[0]!;
  if (isStrict(schema) || given[name]?.strictJsonSchema !== undefined) return undefined;
  return { providerOptions: { ...given, [name]: { ...given[name], strictJsonSchema: false } } };
}

function isStrict(schema: Json): boolean {
  const {
    type,
    properties = {},
    required = [],
    additionalProperties,
    items,
    anyOf = [],
  } = schema as Record<string, never>;
  if (type === undefined && (anyOf as Json[]).length === 0) return false;
  const names = Object.keys(properties);
  const isWhole = names.every((name) => (required as string[]).includes(name)) && additionalProperties === false;
  const inner: Json[] = [...Object.values<Json>(properties), ...(items === undefined ? [] : [items]), ...anyOf];
  return (type !== 'object' || isWhole) && inner.every(isStrict);
}

function settingsOf(languageModel: SupportedModel, { settings, tools }: ModelPrompt): z.output<typeof settingsSchema> {
  const place = {
    code: 'model-settings-invalid',
    what: `settings of a call of ${languageModel.provider} ${languageModel.modelId}`,
    remedy: `Known are ${Object.keys(settingsSchema.shape).join(', ')}. Headers and keys belong to the provider, since settings are recorded.`,
  };
  const found = checked(settingsSchema, settings ?? {}, place);
  if (found.reasoning !== undefined && languageModel.specificationVersion !== 'v4') {
    throw invalid(place, ['reasoning is not known to a model of specification v3: use its providerOptions']);
  }
  const { toolChoice } = found;
  if (typeof toolChoice === 'object' && !tools.some(({ name }) => name === toolChoice.tool)) {
    throw invalid(place, [`toolChoice.tool is ${JSON.stringify(toolChoice.tool)}, which is not a tool of the call`]);
  }
  return found;
}

const toolOf = ({ name, description, inputSchema }: ToolSpec): LanguageModelV4FunctionTool => ({
  type: 'function',
  name,
  ...(description !== '' && { description }),
  inputSchema: inputSchema as object,
});

const choiceOf = (choice: Exclude<ModelSettings['toolChoice'], undefined>) =>
  typeof choice === 'string' ? { type: choice } : { type: 'tool' as const, toolName: choice.tool };
