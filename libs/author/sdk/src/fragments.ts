/**
 * Owns making fragments: what a step hears, says and does, for later model calls to see. Must not store them: a step returns them, and its
 * checkpoint contains them.
 */

import { NAME_MAX_CHARS } from '@tidemark/codec';
import type { FilePart, Json } from '@tidemark/core';
import type { FragmentDraft, ModelAnswer, ModelToolCall } from '@tidemark/runtime';
import { noteOf, withoutFiles } from './file.ts';

/** The goal of the task: never trimmed. */
export const taskGoal = (text: string): FragmentDraft => ({ type: 'task_goal', text });
/** What must hold in any case: never trimmed. */
export const constraint = (text: string): FragmentDraft => ({ type: 'constraint', text });
/** The current state of affairs, for the next holder; the newest one counts, and is never trimmed. */
export const checkpointNote = (text: string): FragmentDraft => ({ type: 'checkpoint_note', text });
/** What a person says: a text, or texts and files in their order. */
export function userMessage(said: string | readonly (string | FilePart)[]): FragmentDraft {
  if (typeof said === 'string') return { type: 'user_message', text: said };
  // Where the file can't be shown, to people and in summaries, a note stands for it.
  const notes = said.map((part, at) =>
    typeof part === 'string' ? part : `${at > 0 ? '\n' : ''}${noteOf(part)}${at < said.length - 1 ? '\n' : ''}`,
  );
  const parts = said.map((part, at) =>
    typeof part === 'string' ? { type: 'text', chars: part.length } : { ...part, chars: notes[at]!.length },
  );
  return {
    type: 'user_message',
    text: notes.join(''),
    parts: { provider: null, spans: 1, text: JSON.stringify(parts) },
  };
}

export const agentMessage = (text: string): FragmentDraft => ({ type: 'agent_message', text });

/** A model's answer: its text, the tools that it calls, and what its provider wants back with them. Return all of it, in this order. */
export function said({
  text,
  toolCalls,
  parts,
}: Pick<ModelAnswer, 'text' | 'toolCalls' | 'parts'>): readonly FragmentDraft[] {
  const fragments = [...(text.trim() === '' ? [] : [agentMessage(text)]), ...toolCalls.map(toolCall)];
  const [first, ...rest] = fragments;
  if (parts === undefined || first === undefined) return fragments;
  return [{ ...first, parts: { ...parts, spans: fragments.length } }, ...rest];
}

/** Of a call and its result alike: models name tools that there are not, too, and the whole name is in the recorded answer. */
const nameOf = (name: string): string => (name === '' ? 'unnamed' : name.slice(0, NAME_MAX_CHARS));

/** A call of a tool; its result must follow, under the same call id. */
export const toolCall = ({ id, name, input }: ModelToolCall): FragmentDraft => ({
  type: 'tool_call',
  call: id,
  tool: nameOf(name),
  text: JSON.stringify(input),
});

/** The result of a tool, as text: files in it (as MCP's tools give them) are named, since not every provider takes them there. */
export const toolResult = (
  { id, name }: Pick<ModelToolCall, 'id' | 'name'>,
  result: string | { readonly text: string } | Json,
): FragmentDraft => ({ type: 'tool_result', call: id, tool: nameOf(name), text: textOf(result) });

function textOf(result: unknown): string {
  if (typeof result === 'string') return result;
  if (typeof result === 'object' && result !== null && 'text' in result && typeof result.text === 'string') {
    return result.text;
  }
  return JSON.stringify(withoutFiles(result ?? null));
}
