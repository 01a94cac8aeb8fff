/** Owns showing a recorded answer as a stream, block by block. Pure. The last part is always `finish`. */

import type { LanguageModelV4Content, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { Parts } from './answer.ts';

export function replayed({
  content,
  finishReason,
  usage,
  providerMetadata,
  warnings,
  response,
}: Parts): LanguageModelV4StreamPart[] {
  return [
    { type: 'stream-start', warnings },
    ...(response === undefined ? [] : [{ type: 'response-metadata' as const, ...response }]),
    ...content.flatMap((part, at) => blockOf(part, String(at))),
    { type: 'finish', finishReason, usage, ...(providerMetadata !== undefined && { providerMetadata }) },
  ];
}

function blockOf(part: LanguageModelV4Content, id: string): LanguageModelV4StreamPart[] {
  switch (part.type) {
    case 'text': {
      const { text, citations, providerMetadata } = part;
      const metadata = providerMetadata === undefined ? {} : { providerMetadata };
      return [
        { type: 'text-start', id, ...metadata },
        { type: 'text-delta', id, delta: text },
        { type: 'text-end', id, ...metadata, ...(citations !== undefined && { citations }) },
      ];
    }
    case 'reasoning': {
      const metadata = part.providerMetadata === undefined ? {} : { providerMetadata: part.providerMetadata };
      return [
        { type: 'reasoning-start', id, ...metadata },
        { type: 'reasoning-delta', id, delta: part.text },
        { type: 'reasoning-end', id, ...metadata },
      ];
    }
    case 'tool-call': {
      const { toolCallId, toolName, input, providerExecuted, dynamic } = part;
      const kind = {
        ...(providerExecuted !== undefined && { providerExecuted }),
        ...(dynamic !== undefined && { dynamic }),
      };
      return [
        { type: 'tool-input-start', id: toolCallId, toolName, ...kind },
        { type: 'tool-input-delta', id: toolCallId, delta: input },
        { type: 'tool-input-end', id: toolCallId },
        part,
      ];
    }
    default:
      return [part];
  }
}
