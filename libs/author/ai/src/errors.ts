/**
 * Owns the errors of model calls: whether the provider certainly did nothing, and whether another attempt may help. Must hold no key, no
 * header and no request: they contain a provider's words only as an excerpt, and never the provider's own error as their cause.
 */

import { InvalidError, LimitError, UnavailableError } from '@tidemark/core';
import { type ModelToolCall, NotDoneError, type Usage } from '@tidemark/runtime';
import { ANSWER_MAX_BYTES } from './limits.ts';

/** It certainly was not answered, and would be refused again: a wrong key, a wrong request, a policy. */
export class ModelRefusedError extends NotDoneError {
  override readonly code = 'model-refused';
}

/**
 * It is refused for its content, before the answer or in its place, and would be again: a person has to see what is asked. It is an error of
 * the input, so the run waits for that person.
 */
export class ModelContentRefusedError extends InvalidError {
  readonly received: Pick<Received, 'usage'>;

  /** `received`: with what it cost; undefined usage: that is unknown. */
  constructor(said: string, received: Pick<Received, 'usage'>, details: Readonly<Record<string, unknown>> = {}) {
    const remedy = 'Change what is asked: the prompt, or what the agent has heard. It is not asked again by itself.';
    super('model-content-refused', `${said} The provider refuses this prompt for its content. ${remedy}`, details);
    this.received = received;
  }
}

/** It certainly was not answered, and may be later: too many calls. `details.retryAfterMs`, where the provider says. */
export class ModelBusyError extends NotDoneError {
  override readonly code = 'model-busy';
}

/** It may have been answered, and paid for: the provider failed, or the network, or the answer can't be read. */
export class ModelUnavailableError extends UnavailableError {}

/** What had arrived when a stream broke. All of it is certain; that nothing was missing is not. */
export interface Received {
  readonly text: string;
  readonly reasoning: string;
  /** Complete calls: name and input had arrived. */
  readonly toolCalls: readonly ModelToolCall[];
  /** Undefined: the provider hadn't reported it yet. */
  readonly usage: Usage | undefined;
  /** The provider's own id of the answer. */
  readonly responseId: string | undefined;
}

/** The provider's answer broke off. It is not recorded as an answer: another attempt sends the request again. */
export class ModelStreamError extends UnavailableError {
  readonly received: Received;

  constructor(code: string, message: string, received: Received, details: Readonly<Record<string, unknown>>) {
    const { text, reasoning, toolCalls, usage } = received;
    const reported = `${text.length} characters of text${reasoning === '' ? '' : `, ${reasoning.length} of reasoning`} and ${toolCalls.length} whole tool calls had come${usage === undefined ? ', and what they cost is unknown' : ''}`;
    super(code, `${message} The answer broke off: ${reported}.`, { ...details, received });
    this.received = received;
  }
}

/** It was answered, and paid for, but is too large to be recorded, so none of it was. */
export class ModelAnswerTooLargeError extends LimitError {
  /** `usage`: undefined where the answer was cut off before the provider reported it; what it cost is unknown then. */
  readonly received: Pick<Received, 'usage'>;

  /** `sizeBytes`: undefined where the answer was cut off. */
  constructor(usage: Usage | undefined, sizeBytes?: number) {
    const size = sizeBytes === undefined ? `more than ${ANSWER_MAX_BYTES} bytes` : `${sizeBytes} bytes`;
    super(
      'model-answer-too-large',
      `The answer has ${size} as JSON, and at most ${ANSWER_MAX_BYTES} may be recorded. Only its cost was recorded: the call was paid all the same. Ask for less: maxOutputTokens, or several calls.`,
      { maxBytes: ANSWER_MAX_BYTES, sizeBytes, usage },
    );
    this.received = { usage };
  }
}

/**
 * The prompt is longer than the model takes, so the same one would be refused again: a person has to see it. It certainly was not answered,
 * and cost nothing. The runtime throws the same code where it knows the model's length.
 */
export class ModelPromptTooLongError extends LimitError {
  readonly received: Pick<Received, 'usage'> = {
    usage: { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0 },
  };

  constructor(message: string, details: Readonly<Record<string, unknown>>) {
    super(
      'prompt-too-long',
      `${message} The prompt is longer than the model takes: lower budgetTokens of its bundle, send less, or call a model with a longer context.`,
      details,
    );
  }
}

const NO_ANSWER_WORDS = {
  empty:
    ' answered nothing: no text and no call of a tool. It is asked again by the policy of its retries. If that stays so, change the prompt, or give more maxOutputTokens to a model that reasons',
  inexact:
    ' answered with a number that JSON in JavaScript would round, and whoever asked reads JSON. Declare numbers beyond 2^53 as texts in its schema',
} as const;

/** It was answered, and maybe paid for, with nothing that can be used: `answer-empty`, `answer-inexact`. */
export class ModelNoAnswerError extends UnavailableError {
  /** `usage`: undefined where the provider reports none. */
  readonly received: Pick<Received, 'usage'>;

  constructor(kind: keyof typeof NO_ANSWER_WORDS, model: string, usage: Usage | undefined, finishReason: string) {
    super(`answer-${kind}`, `${model}${NO_ANSWER_WORDS[kind]}. It ended with ${finishReason}.`, {
      finishReason,
      usage,
    });
    this.received = { usage };
  }
}

export const STREAM_BROKEN = 'model-stream-broken';
export const STREAM_REFUSED = 'model-stream-refused';
