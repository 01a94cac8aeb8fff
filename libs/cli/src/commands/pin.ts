/** Owns `tidemark pin` and `tidemark unpin`: whether a workflow stays with the version that it has; who decided it, and why. */

import { EXIT } from '@tidemark/host';
import { noState } from '../failures.ts';
import type { Session } from '../session.ts';
import { exists, openToRead, targetOf } from '../state/open-desk.ts';
import { requireWorkflow } from '../state/require-workflow.ts';
import { printable } from '../text/width.ts';

export interface PinOptions {
  readonly by: string;
  readonly why: string;
  readonly state?: string | undefined;
}

export const pin = (session: Session, id: string, options: PinOptions): Promise<number> =>
  decide(session, id, options, true);

export const unpin = (session: Session, id: string, options: PinOptions): Promise<number> =>
  decide(session, id, options, false);

async function decide(
  { terminal, env, cwd }: Session,
  id: string,
  { by, why, state }: PinOptions,
  pinned: boolean,
): Promise<number> {
  const target = targetOf(state, env, cwd);
  if (!exists(target)) throw noState(target.kind === 'embedded' ? target.shown : '');
  const desk = await openToRead(target);
  try {
    const { workflow } = await requireWorkflow(desk, id);
    await desk.pin(workflow, { pinned, by, why });
    // What it is kept to is known only now: it may have been led on until then.
    const { version, definition } = await requireWorkflow(desk, id);
    terminal.document({ workflow, definition, version, pinned });
    const what = `${printable(definition)} v${version}`;
    terminal.line(pinned ? `${printable(id)} stays with ${what}.` : `${printable(id)} may go on from ${what}.`);
  } finally {
    await desk.close();
  }
  return EXIT.ok;
}
