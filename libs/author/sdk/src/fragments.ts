/**
 * Owns the making of fragments: what a step tells, says and did, for later model calls to see. Must not store them: a step returns them,
 * and they come with its checkpoint.
 */

import type { Json } from '@tidemark/core';
import type { FragmentDraft, ModelAnswer, ModelToolCall } from '@tidemark/runtime';

/** What the task is for: never trimmed. */
export const taskGoal = (text: string): FragmentDraft => ({ type: 'task_goal', text });
/** What must hold whatever is done: never trimmed. */
export const constraint = (text: string): FragmentDraft => ({ type: 'constraint', text });
/** Where things stand, for whoever goes on; the newest one counts, and is never trimmed. */
export const checkpointNote = (text: string): FragmentDraft => ({ type: 'checkpoint_note', text });
export const userMessage = (text: string): FragmentDraft => ({ type: 'user_message', text });
export const agentMessage = (text: string): FragmentDraft => ({ type: 'agent_message', text });

/** What a model answered: its text, and the tools that it calls. */
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

/** What a tool gave back. */
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
