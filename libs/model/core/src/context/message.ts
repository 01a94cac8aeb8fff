/**
 * Owns the shape of the messages that a model is sent. It belongs to no provider: it maps one to one onto the prompt of the AI SDK's
 * LanguageModelV2 and V3. Also owns the sections of system messages: how they are delimited, and why no text can fake one. Must not know
 * where texts come from.
 *
 * Invariant: this file wrote every tag of TAGS in a rendered system message; no text inside a section can add one.
 */

import type { Json } from '../belief.ts';

export interface TextPart {
  readonly type: 'text';
  readonly text: string;
  /** By provider, in its own form: what it said with this part, and wants back. */
  readonly providerOptions?: Json;
}
/** What only the provider of the model reads, in the form of its library: reasoning, a call that it ran itself. */
export interface OpaquePart {
  readonly type: 'opaque';
  readonly part: Json;
}
/** A file: its bytes as base64, or the address from which the provider reads it. */
export interface FilePart {
  readonly type: 'file';
  /** `image/png`, `application/pdf` … */
  readonly mediaType: string;
  readonly data?: string;
  readonly url?: string;
  readonly filename?: string;
}
export interface ToolCallPart {
  readonly type: 'tool-call';
  readonly id: string;
  readonly name: string;
  readonly input: Json;
  readonly providerOptions?: Json;
}
export interface ToolResultPart {
  readonly type: 'tool-result';
  readonly id: string;
  readonly name: string;
  readonly output: string;
}

export type AssistantPart = TextPart | ToolCallPart | OpaquePart;

export type BundleMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: readonly (TextPart | FilePart)[] }
  | { readonly role: 'assistant'; readonly content: readonly AssistantPart[] }
  | { readonly role: 'tool'; readonly content: readonly ToolResultPart[] };

/** Names of sections in system messages. */
const TAGS = [
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
 * Escapes the `<` of everything that resembles one of our tags as `&lt;`. Messages of the conversation don't need it: there the provider's
 * roles are the delimiters, and the text stays verbatim.
 */
export const contained = (text: string): string => (text.includes('<') ? text.replace(tagStart, '&lt;') : text);

export const opening = (tag: Tag, attribute?: readonly [name: string, value: string]): string =>
  attribute === undefined ? `<${tag}>` : `<${tag} ${attribute[0]}=${contained(JSON.stringify(attribute[1]))}>`;
export const closing = (tag: Tag): string => `</${tag}>`;

/** A section with untrusted text. */
export const section = (tag: Tag, text: string): string => `${opening(tag)}\n${contained(text)}\n${closing(tag)}`;

/** The text of a system message with these sections. */
export const joinSections = (sections: readonly string[]): string => sections.join('\n\n');
