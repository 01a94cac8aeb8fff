/**
 * Owns translating one message to the SDK's provider interface. What a provider gave with a part goes back as the options of that part:
 * reasoning, calls that the provider ran itself, files that it drew. Pure.
 */

import type {
  LanguageModelV4Content,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import { type BundleMessage, type FilePart, type Json, parseJson } from '@tidemark/core';
import type { SupportedModel } from './language-model.ts';

type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'];
type Version = Pick<SupportedModel, 'specificationVersion'>;

const options = (given: Json | undefined): { readonly providerOptions?: SharedV4ProviderOptions } =>
  given === undefined ? {} : { providerOptions: given as unknown as SharedV4ProviderOptions };

export function messageOf(message: BundleMessage, model: Version): LanguageModelV4Message {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: message.content };
    case 'user':
      return {
        role: 'user',
        content: message.content.map((part) =>
          part.type === 'text'
            ? { type: 'text', text: part.text, ...options(part.providerOptions) }
            : fileOf(part, model),
        ),
      };
    case 'assistant':
      return {
        role: 'assistant',
        content: message.content.flatMap((part): AssistantContent => {
          if (part.type === 'opaque') return ownPart(part.part as unknown as LanguageModelV4Content, model);
          const own = options(part.providerOptions);
          return part.type === 'text'
            ? [{ type: 'text', text: part.text, ...own }]
            : [{ type: 'tool-call', toolCallId: part.id, toolName: part.name, input: part.input, ...own }];
        }),
      };
    case 'tool':
      return {
        role: 'tool',
        content: message.content.map(({ id, name, output }) => ({
          type: 'tool-result',
          toolCallId: id,
          toolName: name,
          output: { type: 'text', value: output },
        })),
      };
  }
}

const fileOf = ({ mediaType, data, url, filename }: FilePart, model: Version): LanguageModelV4FilePart => ({
  type: 'file',
  mediaType,
  ...(filename !== undefined && { filename }),
  data: dataOf(url === undefined ? { type: 'data', data: data ?? '' } : { type: 'url', url: new URL(url) }, model),
});

/** The older interface has the data without its kind. */
function dataOf(
  data: LanguageModelV4FilePart['data'],
  { specificationVersion }: Version,
): LanguageModelV4FilePart['data'] {
  if (specificationVersion === 'v4') return data;
  const bare: unknown = data.type === 'data' ? data.data : data.type === 'url' ? new URL(data.url) : data;
  return bare as LanguageModelV4FilePart['data'];
}

/** A part of an answer as a part of a prompt, in the way of the SDK's own `generateText`. */
function ownPart(part: LanguageModelV4Content, model: Version): AssistantContent {
  const own = options(part.providerMetadata as unknown as Json | undefined);
  switch (part.type) {
    case 'reasoning':
      return [{ type: 'reasoning', text: part.text, ...own }];
    case 'file':
    case 'reasoning-file': {
      const data = part.data.type === 'url' ? { ...part.data, url: new URL(part.data.url) } : part.data;
      return [{ type: part.type, mediaType: part.mediaType, data: dataOf(data, model) as typeof data, ...own }];
    }
    case 'custom':
      return [{ type: 'custom', kind: part.kind, ...own }];
    case 'tool-call': {
      const { toolCallId, toolName, input } = part;
      return [{ type: 'tool-call', toolCallId, toolName, input: inputOf(input), providerExecuted: true, ...own }];
    }
    case 'tool-result': {
      const { toolCallId, toolName, result, isError } = part;
      const output = { type: isError === true ? ('error-json' as const) : ('json' as const), value: result };
      return [{ type: 'tool-result', toolCallId, toolName, output, ...own }];
    }
    default:
      return [];
  }
}

function inputOf(input: string): unknown {
  try {
    return parseJson(input, 'The input of a tool');
  } catch {
    return input;
  }
}
