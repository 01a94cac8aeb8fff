// Owns the question to a model as an effect: intended before it leaves the process, recorded when it is answered, never asked
// again once it is. Asking twice costs money and harms nothing, so it is idempotent.

import { defineEffect, NotDoneError } from '@tidemark/sdk';
import { z } from 'zod';
import { MAX_SUMMARY_ATTEMPTS, SUMMARY_TIMEOUT_MS } from './limits.ts';
import { modelFromEnvironment } from './model-choice.ts';

/** A model that cannot be asked at all (no key, a refused one) is an answer too; the report says so. */
export const summaryAnswerSchema = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), text: z.string(), model: z.string(), tokens: z.number().int() }),
  z.object({ ok: z.literal(false), reason: z.string() }),
]);
export type SummaryAnswer = z.infer<typeof summaryAnswerSchema>;

export const askModel = defineEffect({
  operation: 'model.summary',
  kind: 'idempotent',
  request: z.object({ instructions: z.string(), prompt: z.string() }),
  response: summaryAnswerSchema,
  timeoutMs: SUMMARY_TIMEOUT_MS + 5_000,
  retry: { attempts: MAX_SUMMARY_ATTEMPTS, firstDelayMs: 1_000, factor: 3 },
  async call(request, { signal }): Promise<SummaryAnswer> {
    const choice = modelFromEnvironment(process.env);
    if (choice === undefined) return { ok: false, reason: 'no model key in the environment of the worker' };
    const { askForSummary, openModel } = await import('./summarise.ts');
    const answer = await askForSummary(openModel(choice), request, signal);
    if (answer.ok) {
      const { text, model, usage } = answer;
      return { ok: true, text, model, tokens: usage.inputTokens + usage.outputTokens };
    }
    // Recorded as failed, so that the step may go on without it in the end.
    if (answer.retryable) throw new NotDoneError(answer.reason);
    return { ok: false, reason: answer.reason };
  },
});
