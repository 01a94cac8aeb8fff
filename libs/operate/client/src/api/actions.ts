/** Owns the types of the API's chapter "Actions". Made by `node scripts/client-types.ts` from the declarations of the routes. */

import type { Ask } from './shapes.ts';

export interface ActionsEndpoints {
  /** Cancel a workflow */
  readonly 'POST /v1/workflows/{workflow}/cancel': { readonly input: { readonly body: Ask }; readonly answer: Changed };
  /** Report the outcome of an effect that was accepted outside */
  readonly 'POST /v1/workflows/{workflow}/confirmations': {
    readonly input: { readonly body: Confirmation };
    readonly answer: Confirmed;
  };
  /** Answer the question of a parked workflow */
  readonly 'POST /v1/workflows/{workflow}/decisions': {
    readonly input: { readonly body: Decision };
    readonly answer: {
      readonly workflow: string;
      readonly question: string;
      readonly resolution: string;
      /** The operation whose response was taken as given, since no definition that is loaded here has it. */
      readonly unchecked: string | null;
    };
  };
  /** Skip a record that can't be read, or read it again */
  readonly 'POST /v1/workflows/{workflow}/judgements': {
    readonly input: { readonly body: Judgement };
    readonly answer: Judged;
  };
  /** Pause a workflow */
  readonly 'POST /v1/workflows/{workflow}/pause': { readonly input: { readonly body: Ask }; readonly answer: Changed };
  /** Keep a workflow to its version, or let it use newer ones */
  readonly 'POST /v1/workflows/{workflow}/pin': { readonly input: { readonly body: Pin }; readonly answer: Pinned };
  /** Resume a paused workflow */
  readonly 'POST /v1/workflows/{workflow}/resume': { readonly input: { readonly body: Ask }; readonly answer: Changed };
  /** Let a parked workflow try again */
  readonly 'POST /v1/workflows/{workflow}/retry': {
    readonly input: { readonly body: Ask };
    readonly answer: {
      readonly workflow: string;
      readonly question: string;
      readonly resolution: string;
    };
  };
  /** Revoke the live lease of a workflow */
  readonly 'POST /v1/workflows/{workflow}/revocations': {
    readonly input: unknown;
    readonly answer: {
      readonly workflow: string;
      readonly lease: {
        readonly epoch: number;
        readonly holder: string;
      } | null;
    };
  };
  /** Send a signal */
  readonly 'POST /v1/workflows/{workflow}/signals': {
    readonly input: { readonly body: Signal };
    readonly answer: Done;
  };
  /** End a workflow at once */
  readonly 'POST /v1/workflows/{workflow}/terminate': {
    readonly input: { readonly body: Ask };
    readonly answer: Terminated;
  };
}

export interface Changed {
  readonly workflow: string;
  /** False: nothing changed. */
  readonly changed: boolean;
}

export type Confirmation =
  | {
      readonly token: string;
      readonly error: string;
    }
  | {
      readonly token: string;
      readonly response: unknown;
    };

export interface Confirmed {
  readonly workflow: string;
  /** The operation whose response was taken as given, since no definition that is loaded here has it. */
  readonly unchecked: string | null;
}

export interface Decision {
  readonly resolution: 'retry' | 'done' | 'not-done' | 'compensate' | 'fail';
  /** Why; kept with the event. */
  readonly why: string;
  /** What the effect in question answered; for `done`, and only for it. */
  readonly response?: unknown;
  /** The question that is answered; the open one when absent. */
  readonly question?: string | undefined;
}

export interface Judgement {
  readonly judgement: 'skip' | 'take';
  /** Why; kept with the event. */
  readonly why: string;
}

export interface Judged {
  readonly workflow: string;
  readonly judgement: string;
  readonly offset: number;
  readonly problem: string;
}

export interface Pin {
  readonly pinned: boolean;
  /** Why; kept with the event. */
  readonly why: string;
}

export interface Pinned {
  readonly workflow: string;
  readonly definition: string;
  readonly definition_version: number;
  readonly pinned: boolean;
}

export interface Signal {
  readonly name: string;
  readonly value?: unknown;
  readonly key?: string | undefined;
}

export interface Done {
  readonly workflow: string;
}

export interface Terminated {
  readonly workflow: string;
  /** False: nothing changed. */
  readonly changed: boolean;
  /** Calls that may have happened; whether they did stays unknown. */
  readonly open_effects: readonly {
    readonly operation: string;
    readonly idempotency_key: string;
  }[];
}
