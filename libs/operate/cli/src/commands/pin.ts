/** Owns `tidemark pin` and `tidemark unpin`: whether a workflow stays with its version, with author and reason. */

import { EXIT } from '@tidemark/host/exit-codes';
import { atPlace, type PlaceOptions } from '../place/place.ts';
import type { Session } from '../session.ts';
import { printable } from '../text/width.ts';

export interface PinOptions extends PlaceOptions {
  readonly by?: string | undefined;
  readonly why: string;
}

const steering =
  (pinned: boolean) =>
  (session: Session, id: string, options: PinOptions): Promise<number> =>
    atPlace(session, { ...options, how: 'read' }, async ({ client }) => {
      const done = await client.run(id).pin(pinned, options.why);
      session.terminal.answer(done);
      const what = `${printable(done.definition)} v${done.definition_version}`;
      const name = printable(done.workflow);
      session.terminal.line(pinned ? `${name} stays with ${what}.` : `${name} may go on from ${what}.`);
      return EXIT.ok;
    });

export const pin = steering(true);
export const unpin = steering(false);
