/** Owns a prompt without tool calls for a provider that takes none: what was called, and what came of it, is told in words. Pure. */

import { type BundleMessage, canonicalJson } from '@tidemark/core';

/** The messages with calls and results as text: the assistant's, and the user's. */
export function toldCalls(messages: readonly BundleMessage[]): readonly BundleMessage[] {
  return messages.map((message): BundleMessage => {
    if (message.role === 'tool') return { role: 'user', content: message.content.map(toldResult) };
    if (message.role !== 'assistant') return message;
    return {
      ...message,
      content: message.content.map((part) =>
        part.type === 'tool-call' ? textOf(`I called ${part.name} with ${canonicalJson(part.input)}.`) : part,
      ),
    };
  });
}

const toldResult = ({ name, output }: { readonly name: string; readonly output: string }) =>
  textOf(`Result of ${name}:\n${output}`);

const textOf = (text: string) => ({ type: 'text' as const, text });
