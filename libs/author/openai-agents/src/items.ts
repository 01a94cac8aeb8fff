/**
 * Owns how items of a history are kept: as JSON, with bytes (images and files that tools return) as text. Pure.
 */

import type { AgentInputItem } from '@openai/agents-core';
import type { Json } from '@tidemark/core';
import { plainJson } from '@tidemark/runtime';

/** Names the text of bytes. A member that has this name itself gets another `$` before it. */
const BYTES = '$bytes';
const BYTES_ESCAPED = /^\$+bytes$/;

/** Throws `InvalidError` (`not-json`), which names the place. */
export const keptItems = (items: readonly unknown[], place = 'items'): readonly Json[] =>
  items.map((item, at) =>
    plainJson(item, `${place}[${at}]`, {
      bytes: (bytes) => ({ [BYTES]: Buffer.from(bytes).toString('base64') }),
      key: (key) => (BYTES_ESCAPED.test(key) ? `$${key}` : key),
    }),
  );

export const itemsOf = (kept: readonly Json[]): AgentInputItem[] => kept.map((item) => given(item) as AgentInputItem);

function given(value: Json): unknown {
  if (Array.isArray(value)) return value.map(given);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value);
  const [first] = members;
  if (first?.[0] === BYTES) return new Uint8Array(Buffer.from(first[1] as string, 'base64'));
  return Object.fromEntries(
    members.map(([key, member]) => [BYTES_ESCAPED.test(key) ? key.slice(1) : key, given(member)]),
  );
}

/** As JSON says it: providers add hidden members. */
export const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json;
