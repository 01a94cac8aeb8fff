/**
 * Owns how a step's own messages are stored: each once, by its digest. A prompt that begins like the previous one is stored as a link to it
 * and the added messages, so a conversation that is sent again and again grows with its new messages, not with their square. Pure except
 * for the digest.
 */

import { canonicalJson, parseContent } from '@tidemark/codec';
import type { Json, Sha256 } from '@tidemark/core';
import type { Digest } from '@tidemark/ports';

/** One link, as JSON text: the previous prompt, and the digests of the added messages. */
export interface PromptLink {
  readonly before: Sha256 | null;
  readonly added: readonly Sha256[];
}

export interface StoredPrompt {
  /** Digest of the link for the whole prompt; null for an empty one. */
  readonly prompt: Sha256 | null;
  /** Texts that the links name, by digest, whether they are already stored or not. */
  readonly texts: ReadonlyMap<Sha256, string>;
  /** Must be called once the links are in the log: the next prompt may then link to them. */
  readonly stored: () => void;
}

export class PromptChain {
  readonly #digest: Digest;
  /** The last prompt of this process, with which the next one most likely begins. */
  #last: { readonly prompt: Sha256; readonly digests: readonly Sha256[] } | undefined;

  constructor(digest: Digest) {
    this.#digest = digest;
  }

  add(messages: readonly Json[]): StoredPrompt {
    if (messages.length === 0) return { prompt: null, texts: new Map(), stored: () => {} };
    const texts = new Map<Sha256, string>();
    const digests = messages.map((message) => {
      // Its members stay in their order, so that what is sent again is the same byte for byte.
      const text = JSON.stringify(message);
      const digest = this.#digest.sha256(text);
      texts.set(digest, text);
      return digest;
    });
    const before = this.#last?.digests.every((digest, at) => digests[at] === digest) ? this.#last : undefined;
    const link: PromptLink = { before: before?.prompt ?? null, added: digests.slice(before?.digests.length ?? 0) };
    const text = canonicalJson(link as unknown as Json);
    const prompt = this.#digest.sha256(text);
    texts.set(prompt, text);
    const stored = (): void => {
      this.#last = { prompt, digests };
    };
    return { prompt, texts, stored };
  }
}

/** The messages of a stored prompt. `read` returns texts by their digests, and throws for a missing one. */
export async function promptMessages(
  prompt: Sha256 | null,
  read: (digests: readonly Sha256[]) => Promise<(digest: Sha256) => string>,
): Promise<readonly Json[]> {
  const links: PromptLink[] = [];
  for (let at = prompt; at !== null; ) {
    const link = parseContent((await read([at]))(at)) as unknown as PromptLink;
    links.unshift(link);
    at = link.before;
  }
  const digests = links.flatMap(({ added }) => added);
  const text = await read(digests);
  return digests.map((digest) => parseContent(text(digest)));
}
