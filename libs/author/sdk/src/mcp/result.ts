/** Owns what a server's answer to a call becomes: a text for the model, and what is recorded. Whatever it is, the call took place. Pure. */

import { toJson } from '@tidemark/codec';
import type { Json } from '@tidemark/core';
import { z } from 'zod';
import { RESULT_MAX_CHARS, RESULT_PARTS_MAX_COUNT } from './limits.ts';
import { membersOf, sizeOf } from './listing.ts';

/** The recorded outcome of a call. */
export const outcomeSchema = z.object({
  /** For the model. */
  text: z.string(),
  /** The tool says that it failed, or the server refused the call. */
  isError: z.boolean(),
  /** As the tool's output schema has it. */
  structured: z.json().optional(),
});
export type McpOutcome = z.infer<typeof outcomeSchema>;

export function outcomeOf(answer: unknown): McpOutcome {
  const { content, structuredContent, isError } = membersOf(answer);
  const parts = Array.isArray(content) ? content : [];
  const texts = parts.slice(0, RESULT_PARTS_MAX_COUNT).map(textOf);
  if (parts.length > texts.length) texts.push(`[${parts.length - texts.length} more parts are left out]`);
  const structured = structuredContent === undefined ? undefined : storable(structuredContent);
  if (structured !== undefined && 'problem' in structured) texts.push(structured.problem);
  const json = structured !== undefined && 'json' in structured ? structured.json : undefined;
  if (texts.length === 0 && json !== undefined) texts.push(JSON.stringify(json));
  return {
    text: cut(texts.join('\n')),
    isError: isError === true,
    ...(json !== undefined && { structured: json as never }),
  };
}

function textOf(part: unknown): string {
  const { type, text, data, mimeType, uri, name, resource } = membersOf(part);
  const kind = typeof mimeType === 'string' ? ` ${mimeType.slice(0, 100)}` : '';
  if (type === 'text' && typeof text === 'string') return text;
  if (type === 'image' || type === 'audio') return `[${type}${kind}, ${bytesOf(data)} bytes, not shown]`;
  if (type === 'resource_link') return `[resource ${JSON.stringify(name ?? '')} at ${JSON.stringify(uri ?? '')}]`;
  const { uri: at, text: content, blob, mimeType: of } = membersOf(resource);
  const label = `resource at ${JSON.stringify(at ?? '')}`;
  if (typeof content === 'string') return `[${label}]\n${content}`;
  if (blob !== undefined) return `[${label}, ${of ?? 'unknown type'}, ${bytesOf(blob)} bytes, not shown]`;
  return `[a part of the type ${JSON.stringify(String(type)).slice(0, 100)}, not shown]`;
}

/** Of base64. */
const bytesOf = (data: unknown): number => (typeof data === 'string' ? Math.floor((data.length * 3) / 4) : 0);

function storable(value: unknown): { readonly json: Json } | { readonly problem: string } {
  const size = sizeOf(value);
  if (size > RESULT_MAX_CHARS) {
    const found = size === Number.POSITIVE_INFINITY ? 'too many levels' : `${size} characters`;
    return { problem: `[mcp-result-too-large: the structured content has ${found} and is left out; ask for less]` };
  }
  try {
    return { json: toJson(value, 'structured content') };
  } catch (error) {
    return { problem: `[mcp-result-unstorable: ${(error as Error).message}]` };
  }
}

/** Never within a character of two halves. */
function cut(text: string): string {
  if (text.length <= RESULT_MAX_CHARS) return text;
  const kept = text.slice(0, RESULT_MAX_CHARS).toWellFormed();
  return `${kept}\n[mcp-result-too-large: ${text.length - RESULT_MAX_CHARS} more characters are left out; ask for less]`;
}
