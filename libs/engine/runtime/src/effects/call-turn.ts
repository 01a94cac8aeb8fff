/**
 * Owns a call's turn under the limits of what it shares with others: it is taken before anything is recorded of the call, so a wait leaves
 * no outcome open, and given back when the call has ended. A short wait for others is waited for here, a longer one is the step's error. It decides no
 * retry.
 *
 * T1 Each turn that was taken is given back once, however the call ends.
 */

import type { Json, Spend, TenantId } from '@tidemark/core';
import type { AskedTurn, CallEnd, CallScope } from '@tidemark/ports';
import { CallWaitError, callScopes, type EffectDefinition, faultOf, limitWords } from '../definition/index.ts';
import type { Ports } from '../kernel/index.ts';
import type { AskedCall } from './effect-drafts.ts';
import { CALL_WINDOW_MS, TURN_WAIT_MAX_MS } from './limits.ts';

export interface TurnDependencies {
  readonly ports: Pick<Ports, 'calls' | 'clock'>;
  readonly tenant: TenantId;
  readonly signal: AbortSignal;
  /** Receives what the call waits for. */
  readonly onWait: (text: string) => void;
}

export type TakenTurn = Pick<CallTurn, 'begin' | 'end'>;

/** Where there is no limiter. */
export const NO_TURN: TakenTurn = { begin: () => {}, end: async () => {} };

export class CallTurn {
  readonly #dependencies: TurnDependencies;
  readonly #asked: AskedTurn;
  readonly #call: string;
  readonly #policy: EffectDefinition['retry'];
  #beganMs: number | undefined;
  #hasEnded = false;

  private constructor(
    dependencies: TurnDependencies,
    asked: AskedTurn,
    call: string,
    policy: EffectDefinition['retry'],
  ) {
    this.#dependencies = dependencies;
    this.#asked = asked;
    this.#call = call;
    this.#policy = policy;
  }

  /** Resolves when the call may be made. Throws `CallWaitError` where that is not soon, and the signal's reason when it aborts. */
  static async taken(
    dependencies: TurnDependencies,
    { effect, key, request }: Pick<AskedCall, 'effect' | 'key' | 'request'>,
    tokens: number,
  ): Promise<TakenTurn> {
    const { ports, tenant, signal } = dependencies;
    const scopes = await scopesOf(effect, effect.asked ?? request);
    const asked = { who: key, tenant, scopes, tokens, timeoutMs: CALL_WINDOW_MS + effect.timeoutMs };
    const untilMs = ports.clock.monotonicMs() + TURN_WAIT_MAX_MS;
    for (;;) {
      const waitMaxMs = Math.max(0, untilMs - ports.clock.monotonicMs());
      const turn = await ports.calls!.ask({ ...asked, waitMaxMs });
      if (turn.kind === 'pass') {
        const taken = new CallTurn(dependencies, { ...asked, waitMaxMs }, turn.call, effect.retry);
        await taken.#waitFor(turn.inMs);
        return taken;
      }
      // Who waits out a fault waits as after one of its own.
      if (turn.waitMs > waitMaxMs || turn.faultMs > 0) throw waiting(turn);
      await pause(dependencies, turn.waitMs, turn.scope);
      signal.throwIfAborted();
    }
  }

  async #waitFor(inMs: number): Promise<void> {
    const { signal } = this.#dependencies;
    if (inMs > 0) await pause(this.#dependencies, inMs);
    if (!signal.aborted) return;
    await this.end({ kind: 'unmade' });
    throw signal.reason;
  }

  /** The call is made now. */
  begin(): void {
    this.#beganMs = this.#dependencies.ports.clock.monotonicMs();
  }

  /** Only its first end counts. `error`: what the call failed with; otherwise it was answered, at the cost of `spent`. */
  async end(
    how: { readonly kind: 'unmade' } | { readonly error: unknown } | { readonly spent: Spend | undefined },
  ): Promise<void> {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    await this.#dependencies.ports.calls!.end(this.#asked, this.#call, this.#endOf(how));
  }

  #endOf(how: Parameters<CallTurn['end']>[0]): CallEnd {
    const { ports, signal } = this.#dependencies;
    if ('kind' in how || this.#beganMs === undefined) return { kind: 'unmade' };
    if (signal.aborted) return { kind: 'unknown' };
    const tookMs = ports.clock.monotonicMs() - this.#beganMs;
    if ('spent' in how) return { kind: 'answered', tookMs, tokens: how.spent?.tokens };
    const { kind, why, isLimited, retryAfterMs } = faultOf(how.error, this.#policy, ports.clock.nowMs());
    // Who refuses has answered.
    if (kind !== 'passing') return { kind: 'answered', tookMs };
    return { kind: 'fault', why, isLimited, ...(retryAfterMs !== undefined && { askedMs: retryAfterMs }) };
  }
}

async function pause({ ports, signal, onWait }: TurnDependencies, ms: number, scope?: CallScope): Promise<void> {
  if (scope !== undefined) onWait(`waits ${Math.ceil(ms / 1_000)} s for its turn (${limitWords(scope)})`);
  await ports.clock.sleep(ms, signal);
}

function waiting(turn: {
  readonly waitMs: number;
  readonly faultMs: number;
  readonly why?: string | undefined;
  readonly scope: CallScope;
}) {
  const { waitMs, faultMs, why, scope } = turn;
  return new CallWaitError(why ?? `its turn (${limitWords(scope)})`, waitMs, Math.max(0, waitMs - faultMs));
}

/** Without its own scopes an effect shares its operation. */
const scopesOf = async ({ operation, scopesOf: own }: EffectDefinition, request: Json): Promise<readonly CallScope[]> =>
  (await own?.(request)) ?? callScopes([`effect ${operation}`]);
