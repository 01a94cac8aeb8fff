/**
 * Owns making fragments: what a step hears, says and does, for later model calls to see. Must not store them: a step returns them, and its
 * checkpoint contains them.
 */

import type { Json } from '@tidemark/core';
import type { FragmentDraft, ModelAnswer, ModelToolCall } from '@tidemark/runtime';

/** The goal of the task: never trimmed. */
export const taskGoal = (text: string): FragmentDraft => ({ type: 'task_goal', text });
/** What must hold in any case: never trimmed. */
export const constraint = (text: string): FragmentDraft => ({ type: 'constraint', text });
/** The current state of affairs, for the next holder; the newest one counts, and is never trimmed. */
export const checkpointNote = (text: string): FragmentDraft => ({ type: 'checkpoint_note', text });
export const userMessage = (text: string): FragmentDraft => ({ type: 'user_message', text });
export const agentMessage = (text: string): FragmentDraft => ({ type: 'agent_message', text });

/** A model's answer: its text, and the tools that it calls. */
export const said = ({ text, toolCalls }: Pick<ModelAnswer, 'text' | 'toolCalls'>): readonly FragmentDraft[] => [
  ...(text.trim() === '' ? [] : [agentMessage(text)]),
  ...toolCalls.map(toolCall),
];

/** A call of a tool; its result must follow, under the same call id. */
export const toolCall = ({ id, name, input }: ModelToolCall): FragmentDraft => ({
  type: 'tool_call',
  call: id,
  tool: name,
  text: JSON.stringify(input),
});

/** The result of a tool. */
export const toolResult = (
  { id, name }: Pick<ModelToolCall, 'id' | 'name'>,
  result: string | { readonly text: string } | Json,
): FragmentDraft => ({ type: 'tool_result', call: id, tool: name, text: textOf(result) });

function textOf(result: unknown): string {
  if (typeof result === 'string') return result;
  if (typeof result === 'object' && result !== null && 'text' in result && typeof result.text === 'string') {
    return result.text;
  }
  return JSON.stringify(result ?? null);
}
