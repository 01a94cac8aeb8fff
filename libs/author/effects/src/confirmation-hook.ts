/**
 * Owns the web hook by which a receiver confirms a call that it had accepted: it turns a request into a confirmation, and the outcome into
 * a status that makes the sender repeat it, or stop. Must not listen: it is a handler for the user's own server.
 *
 * Invariant: it answers 2xx only when the confirmation counts.
 */

import { ConflictError, InvalidError, type Json, TidemarkError } from '@tidemark/sdk';

/** Seconds after which the sender of a web hook should repeat it. */
const HOOK_RETRY_AFTER_S = 2;

/** A receiver's report on an effect that it had accepted under the token. */
export type HookConfirmation = {
  readonly workflow: string;
  readonly token: string;
} & ({ readonly response: Json } | { readonly error: string });

export interface ConfirmationHookOptions {
  /** `client.confirm`, as it is. */
  readonly confirm: (
    workflow: string,
    token: string,
    outcome: { readonly response: Json } | { readonly error: string },
  ) => Promise<void>;
  /**
   * Checks that the request is genuine (its signature) and reads it. Throw `HookRefusedError` when it isn't; any other error means that it
   * can't be read. Undefined: it concerns nothing of ours, and is accepted without effect.
   */
  readonly read: (request: Request) => HookConfirmation | undefined | Promise<HookConfirmation | undefined>;
}

/** The request is not genuine; the answer does not say why. */
export class HookRefusedError extends TidemarkError {
  override readonly name = 'HookRefusedError';

  constructor(message = 'The request is not genuine.') {
    super('hook-refused', message);
  }
}

/**
 * A handler for any server that speaks the fetch API's `Request` and `Response`. Answers 204 when the confirmation counts (also when it did
 * before), 401, 400 (unreadable), 409 (it contradicts the recorded outcome, or the workflow has ended), 404 (no such workflow), and 503
 * with `Retry-After` when the sender should repeat it: servers are unreachable, or it has overtaken the effect itself.
 */
export const confirmationHook =
  ({ confirm, read }: ConfirmationHookOptions) =>
  async (request: Request): Promise<Response> => {
    let confirmation: HookConfirmation | undefined;
    try {
      confirmation = await read(request);
    } catch (error) {
      return error instanceof HookRefusedError ? answer(401, error.code) : answer(400, 'hook-unreadable');
    }
    if (confirmation === undefined) return answer(204);
    const { workflow, token } = confirmation;
    try {
      await confirm(
        workflow,
        token,
        'error' in confirmation ? { error: confirmation.error } : { response: confirmation.response },
      );
      return answer(204);
    } catch (error) {
      return statusOf(error);
    }
  };

/** The answer has only codes: what a workflow holds is not the sender's business. */
function statusOf(error: unknown): Response {
  if (error instanceof InvalidError && error.code === 'workflow-unknown') return answer(404, error.code);
  if (error instanceof InvalidError && error.code === 'token-unknown') return answer(503, error.code);
  if (error instanceof InvalidError) return answer(400, error.code);
  if (error instanceof ConflictError) return answer(409, error.code);
  return answer(503, error instanceof TidemarkError ? error.code : 'internal');
}

function answer(status: number, code?: string): Response {
  const headers = status === 503 ? { 'retry-after': String(HOOK_RETRY_AFTER_S) } : {};
  return code === undefined ? new Response(null, { status, headers }) : Response.json({ code }, { status, headers });
}
