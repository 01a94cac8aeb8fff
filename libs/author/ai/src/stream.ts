/**
 * Owns reading a provider's stream: builds from its pieces the answer that would have come whole, and reports them as they come. Invariant:
 * an answer counts only when the provider has said that it ended; otherwise the error contains what had come, as what is certain.
 */

import type { LanguageModelV4Content, LanguageModelV4StreamPart, LanguageModelV4Usage } from '@ai-sdk/provider';
import type { ModelDelta } from '@tidemark/runtime';
import { type Parts, toolCallOf } from './answer.ts';
import { ModelAnswerTooLargeError } from './errors.ts';
import { isOwnCall } from './folded-content.ts';
import { ANSWER_MAX_BYTES } from './limits.ts';
import { SoundStream } from './sound-text.ts';

/** A listener to a stream while it comes. */
export interface Listener {
  readonly onDelta: (delta: ModelDelta) => void;
  /** Receives every part that was read, made storable; the last is `finish`. */
  readonly onPart: (part: LanguageModelV4StreamPart) => void;
}

/** What had come of an answer. */
export interface Come {
  readonly content: readonly LanguageModelV4Content[];
  /** Undefined: its end had not come. */
  readonly usage: LanguageModelV4Usage | undefined;
  readonly responseId: string | undefined;
}

/** An answer that is not complete; `reason` is the provider's error. */
export class BrokenAnswer extends Error {
  readonly reason: unknown;
  readonly come: Come;

  constructor(reason: unknown, come: Come) {
    super('The answer broke off.');
    this.reason = reason;
    this.come = come;
  }
}

/** Throws `BrokenAnswer`, `ModelAnswerTooLargeError`. Ends when the signal aborts, even if the provider doesn't. */
export async function readStream(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  signal: AbortSignal,
  listener: Listener,
): Promise<Parts> {
  const reader = stream.getReader();
  const answer = new GrowingAnswer();
  const pieces = new SoundStream();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  aborted.catch(() => {});
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    signal.throwIfAborted();
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), aborted]);
      if (done) throw new Error('The stream ended without saying why.');
      if (value.type === 'error') throw value.error;
      for (const part of pieces.take(value)) {
        answer.add(part, listener.onDelta);
        listener.onPart(part);
      }
      const parts = answer.finished();
      if (parts !== undefined) return parts;
    }
  } catch (error) {
    if (error instanceof ModelAnswerTooLargeError) throw error;
    throw new BrokenAnswer(error, answer.come());
  } finally {
    signal.removeEventListener('abort', onAbort);
    void reader.cancel().catch(() => {});
  }
}

/** A block of text or reasoning that isn't closed yet. */
type Block = Extract<LanguageModelV4Content, { readonly type: 'text' | 'reasoning' }>;

class GrowingAnswer {
  readonly #content: LanguageModelV4Content[] = [];
  /** By kind and id, which a stream may use again for the next block. */
  readonly #open = new Map<string, Block>();
  #warnings: Parts['warnings'] = [];
  #response: NonNullable<Parts['response']> = {};
  #finish: Extract<LanguageModelV4StreamPart, { type: 'finish' }> | undefined;
  #charCount = 0;

  add(part: LanguageModelV4StreamPart, onDelta: Listener['onDelta']): void {
    this.#charCount += 'delta' in part ? part.delta.length : 0;
    // No character takes less than a byte: a text that is too long already fails at once.
    if (this.#charCount > ANSWER_MAX_BYTES) throw new ModelAnswerTooLargeError(undefined);
    switch (part.type) {
      case 'stream-start':
        this.#warnings = part.warnings;
        return;
      case 'response-metadata': {
        const { type: _, ...response } = part;
        this.#response = { ...this.#response, ...response };
        return;
      }
      case 'text-start':
      case 'reasoning-start':
        this.#begin(part.type === 'text-start' ? 'text' : 'reasoning', part);
        return;
      case 'text-delta':
      case 'reasoning-delta': {
        const kind = part.type === 'text-delta' ? 'text' : 'reasoning';
        const block = this.#block(kind, part);
        block.text += part.delta;
        if (part.delta !== '') onDelta({ kind, text: part.delta });
        return;
      }
      case 'text-end':
      case 'reasoning-end':
        this.#end(part);
        return;
      case 'finish':
        this.#finish = part;
        return;
      case 'tool-input-start':
      case 'tool-input-delta':
      case 'tool-input-end':
      case 'ping':
      case 'raw':
      case 'error':
        return;
      default:
        this.#content.push(part);
        if (isOwnCall(part)) onDelta({ kind: 'tool-call', call: toolCallOf(part) });
    }
  }

  #begin(
    kind: Block['type'],
    part: { readonly id: string; readonly providerMetadata?: Block['providerMetadata'] },
  ): Block {
    const { id, providerMetadata } = part;
    const block: Block = { type: kind, text: '', ...(providerMetadata !== undefined && { providerMetadata }) };
    this.#content.push(block);
    this.#open.set(`${kind} ${id}`, block);
    return block;
  }

  #block(
    kind: Block['type'],
    part: { readonly id: string; readonly providerMetadata?: Block['providerMetadata'] },
  ): Block {
    const block = this.#open.get(`${kind} ${part.id}`) ?? this.#begin(kind, part);
    if (part.providerMetadata !== undefined) block.providerMetadata = part.providerMetadata;
    return block;
  }

  #end(part: Extract<LanguageModelV4StreamPart, { type: 'text-end' | 'reasoning-end' }>): void {
    const kind = part.type === 'text-end' ? 'text' : 'reasoning';
    const block = this.#open.get(`${kind} ${part.id}`);
    if (block === undefined) return;
    if (part.providerMetadata !== undefined) block.providerMetadata = part.providerMetadata;
    if (part.type === 'text-end' && part.citations !== undefined && block.type === 'text')
      block.citations = part.citations;
    this.#open.delete(`${kind} ${part.id}`);
  }

  /** Undefined: there is more to come. */
  finished(): Parts | undefined {
    if (this.#finish === undefined) return undefined;
    const { finishReason, usage, providerMetadata } = this.#finish;
    return {
      content: this.#content,
      finishReason,
      usage,
      ...(providerMetadata !== undefined && { providerMetadata }),
      warnings: this.#warnings,
      response: this.#response,
    };
  }

  come(): Come {
    return { content: this.#content, usage: this.#finish?.usage, responseId: this.#response.id };
  }
}
