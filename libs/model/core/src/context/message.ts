/**
 * Owns the shape of what a model is sent, which is no provider's own: it maps one to one onto the prompt of the AI SDK's
 * LanguageModelV2 and V3. And the sections of system messages: how they are delimited, and why no text can fake one. Must not
 * know where texts come from.
 *
 * Invariant: in a rendered system message every tag of TAGS was written here, never by a text inside a section.
 */

import type { Json } from '../belief.ts';

export interface TextPart {
  readonly type: 'text';
  readonly text: string;
}
export interface ToolCallPart {
  readonly type: 'tool-call';
  readonly id: string;
  readonly name: string;
  readonly input: Json;
}
export interface ToolResultPart {
  readonly type: 'tool-result';
  readonly id: string;
  readonly name: string;
  readonly output: string;
}

export type BundleMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: readonly TextPart[] }
  | { readonly role: 'assistant'; readonly content: readonly (TextPart | ToolCallPart)[] }
  | { readonly role: 'tool'; readonly content: readonly ToolResultPart[] };

/** Names of sections in system messages. */
export const TAGS = [
  'task_goal',
  'constraint',
  'thread_summary',
  'checkpoint_note',
  'user_context',
  'continuation_context',
  'working_memory',
  'recent_trace',
  'conversation',
] as const;
export type Tag = (typeof TAGS)[number];

const tagStart = new RegExp(`<(?=[\\s/]*(?:${TAGS.join('|')}))`, 'giu');

/**
 * The text with the `<` of everything that looks like one of our tags written as `&lt;`. Messages of the conversation don't
 * need it: there the provider's roles are the delimiters, and the text stays as it was said.
 */
export const contained = (text: string): string => (text.includes('<') ? text.replace(tagStart, '&lt;') : text);

export const opening = (tag: Tag, attribute?: readonly [name: string, value: string]): string =>
  attribute === undefined ? `<${tag}>` : `<${tag} ${attribute[0]}=${contained(JSON.stringify(attribute[1]))}>`;
export const closing = (tag: Tag): string => `</${tag}>`;

/** A section with a text that may come from anyone. */
export const section = (tag: Tag, text: string): string => `${opening(tag)}\n${contained(text)}\n${closing(tag)}`;

/** Sections of one system message. */
export const joinSections = (sections: readonly string[]): string => sections.join('\n\n');
