/** Entry point of the library: effects on the usual outside. */

export {
  type ConfirmationHookOptions,
  confirmationHook,
  type HookConfirmation,
  HookRefusedError,
} from './confirmation-hook.ts';
export { effectsTable } from './effect-rows.ts';
export { type FileEffectSpec, type FileReceipt, fileEffect } from './file-effect.ts';
export { type HttpAnswer, type HttpEffectSpec, type HttpProbe, httpEffect } from './http-effect.ts';
export type { HttpOutcome } from './http-outcome.ts';
export type { HttpRequest } from './http-request.ts';
export type { KeyFormat } from './key-header.ts';
export { RefusedError } from './refused-error.ts';
export { type SqlEffectSpec, sqlEffect } from './sql-effect.ts';
export type { SqlConnection, SqlPool, SqlResult, SqlTransaction } from './sql-session.ts';
