/**
 * Owns what equal failures have in common: definition, step, code and message without what differs from one to the next. Stamped into the
 * event's header, so that rows can be found and counted by it. A header is never encrypted, so where payloads are, the message is no part
 * of it: a short text could be guessed from its digest. Pure.
 */

import type { StreamState, TaskId } from '@tidemark/core';
import { sha256Digest } from '../kernel/index.ts';

/** Characters of a message that count. */
const MESSAGE_MAX_CHARS = 2_000;
const FINGERPRINT_CHARS = 12;

/** `Charge 8821 of 'ana' failed: HTTP 503` and `Charge 17 of 'ben' failed: HTTP 503` alike: statuses stay, other numbers, ids and quotes go. */
export const messageForm = (message: string): string =>
  message
    .slice(0, MESSAGE_MAX_CHARS)
    .replaceAll(/'[^']*'|"[^"]*"|`[^`]*`/g, "''")
    .replaceAll(
      /(?:http|status|code)[ :]{1,2}([1-5])(\d\d)\b/gi,
      (_, first: string, rest: string) => `http ${wordOf(first)}${wordOf(rest)}`,
    )
    .replaceAll(/[^\s,;()[\]{}=]+/g, (word) => (/\d|^[0-9a-f]{8,}$/i.test(word) ? '#' : word))
    .replaceAll(/\s+/g, ' ')
    .trim()
    .toLowerCase();

/** Digits as letters, which stay. */
const wordOf = (digits: string): string => digits.replaceAll(/\d/g, (digit) => 'abcdefghij'[Number(digit)]!);

interface Drafted {
  readonly type: string;
  readonly control: object;
  readonly payload: unknown;
}

interface Failed extends Drafted {
  readonly control: { readonly task: TaskId | null; readonly code: string };
  readonly payload: { readonly error: { readonly message: string } };
}

const isFailure = (draft: Drafted | undefined): draft is Failed =>
  draft?.type === 'StepFailed' || draft?.type === 'WorkflowParked' || draft?.type === 'WorkflowFailed';

/** The drafts with the fingerprint in the first that says a failure: what follows from it is the same one. That it is cancelled, or ended by a person, is none. */
export function fingerprinted<Draft extends Drafted>(
  drafts: readonly Draft[],
  state: StreamState,
  isSealing: boolean,
): readonly Draft[] {
  const at = state.ruling === null ? drafts.findIndex(isFailure) : -1;
  const failed = drafts[at];
  if (!isFailure(failed)) return drafts;
  const { task, code } = failed.control;
  const step = task === null ? '' : (state.frontier.tasks.get(task)?.step ?? '');
  const message = isSealing ? '' : messageForm(failed.payload.error.message);
  const text = JSON.stringify([state.definition, step, code, message]);
  const fingerprint = sha256Digest.sha256(text).slice(0, FINGERPRINT_CHARS);
  return drafts.with(at, { ...failed, control: { ...failed.control, fingerprint } } as Draft);
}
