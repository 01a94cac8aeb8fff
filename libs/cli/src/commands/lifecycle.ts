/** Owns `tidemark cancel`, `terminate`, `pause` and `resume`: what becomes of a workflow's life; who decided it, and why. */

import { decodePayload } from '@tidemark/codec';
import { isOpen } from '@tidemark/core';
import { EXIT } from '@tidemark/host';
import type { EffectRow } from '@tidemark/ports';
import type { LifecycleAct, LifecycleDone } from '@tidemark/runtime';
import type { Session } from '../session.ts';
import { atDesk } from '../state/at-desk.ts';
import { type Desk, isIdle } from '../state/desk.ts';
import { requireWorkflow } from '../state/require-workflow.ts';
import { printable } from '../text/width.ts';

export interface LifecycleOptions {
  readonly by: string;
  readonly why: string;
  readonly state?: string | undefined;
}

export const lifecycle =
  (act: LifecycleAct) =>
  async (session: Session, id: string, { by, why, state }: LifecycleOptions): Promise<number> =>
    atDesk(session, { state, how: 'look' }, async (desk) => {
      const { terminal } = session;
      const { workflow } = await requireWorkflow(desk, id);
      // Before it is done: what is done must not be told as failed, since these can't be read.
      const open = act === 'terminate' ? (await desk.reads.effects(workflow)).filter(mayHaveHappened) : undefined;
      const done = await desk.lifecycle(workflow, act, { by, why });
      terminal.document({
        workflow,
        act,
        changed: done.changed,
        by,
        why,
        ...(open && { open_effects: open.map(({ operation, key }) => ({ operation, idempotency_key: key })) }),
      });
      terminal.line(`${printable(workflow)} ${words(act, done, desk)}`);
      for (const { operation, key } of open ?? []) {
        terminal.warn(
          `${printable(operation)} (${printable(key)}) may have been called, and Tidemark no longer finds out whether it happened.`,
        );
      }
      return EXIT.ok;
    });

/** What a fork replays is answered from its base, and never called. */
const mayHaveHappened = (effect: EffectRow): boolean =>
  isOpen(effect) && (effect.request === null || decodePayload('EffectIntended', effect.request).replays === undefined);

function words(act: LifecycleAct, { changed }: LifecycleDone, desk: Desk): string {
  const who =
    isIdle(desk) && desk.place.kind === 'embedded'
      ? `the next tidemark dev or run on ${desk.place.folder}`
      : 'whoever has it, or the next free worker,';
  switch (act) {
    case 'cancel':
      return changed
        ? `is being cancelled: ${who} undoes what can be undone of it, and ends it.`
        : 'was cancelled before.';
    case 'terminate':
      return changed ? 'has ended: nothing was undone.' : 'was ended before.';
    case 'pause':
      return changed ? 'is paused: steps under way finish, and nothing further starts.' : 'is paused already.';
    case 'resume':
      return changed ? 'goes on.' : "isn't paused.";
  }
}
