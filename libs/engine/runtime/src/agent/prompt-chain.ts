/**
 * Owns how messages that a step sends itself are stored: each once, by its digest, and a prompt that begins like the one before it as
 * that one and what was added. So a conversation that a step sends again and again grows with what is new in it, not with
 * its square. Pure but for the digest.
 */

import { canonicalJson } from '@tidemark/codec';
import type { Json, Sha256 } from '@tidemark/core';
import type { Digest } from '@tidemark/ports';

/** One link, as JSON text: the prompt before it, and the digests of what was added. */
export interface PromptLink {
  readonly before: Sha256 | null;
  readonly added: readonly Sha256[];
}

export interface StoredPrompt {
  /** Names the link that holds the whole prompt; null for an empty one. */
  readonly prompt: Sha256 | null;
  /** Texts that the links name, by their digests, whether they are stored already or not. */
  readonly texts: ReadonlyMap<Sha256, string>;
  /** To be called once the links are in the log: the next prompt may go on from them. */
  readonly stored: () => void;
}

export class PromptChain {
  readonly #digest: Digest;
  /** The last prompt of this process: what the next one most likely begins with. */
  #last: { readonly prompt: Sha256; readonly digests: readonly Sha256[] } | undefined;

  constructor(digest: Digest) {
    this.#digest = digest;
  }

  add(messages: readonly Json[]): StoredPrompt {
    if (messages.length === 0) return { prompt: null, texts: new Map(), stored: () => {} };
    const texts = new Map<Sha256, string>();
    const digests = messages.map((message) => {
      const text = canonicalJson(message);
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

/** The messages of a stored prompt. `read`: texts by their digests; throws for one that is missing. */
export async function promptMessages(
  prompt: Sha256 | null,
  read: (digests: readonly Sha256[]) => Promise<(digest: Sha256) => string>,
): Promise<readonly Json[]> {
  const links: PromptLink[] = [];
  for (let at = prompt; at !== null; ) {
    const link = JSON.parse((await read([at]))(at)) as PromptLink;
    links.unshift(link);
    at = link.before;
  }
  const digests = links.flatMap(({ added }) => added);
  const text = await read(digests);
  return digests.map((digest) => JSON.parse(text(digest)) as Json);
}
