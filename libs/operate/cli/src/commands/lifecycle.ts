/** Owns `tidemark cancel`, `terminate`, `pause` and `resume`, with the author and reason of each. */

import type { Answer, Client } from '@tidemark/client';
import { EXIT } from '@tidemark/host/exit-codes';
import { nextHolder } from '../place/next-holder.ts';
import { atPlace, type Place, type PlaceOptions } from '../place/place.ts';
import type { Session } from '../session.ts';
import { printable } from '../text/width.ts';

type LifecycleAct = 'cancel' | 'terminate' | 'pause' | 'resume';

export interface LifecycleOptions extends PlaceOptions {
  readonly by?: string | undefined;
  readonly why: string;
}

const lifecycle =
  (act: LifecycleAct) =>
  (session: Session, id: string, options: LifecycleOptions): Promise<number> =>
    atPlace(session, { ...options, how: 'read' }, async (place) => {
      const { terminal } = session;
      const done = await ask(place.client, act, id, options.why);
      terminal.answer(done);
      terminal.line(`${printable(done.workflow)} ${words(act, done.changed, place)}`);
      for (const { operation, idempotency_key: key } of done.open_effects ?? []) {
        terminal.warn(
          `${printable(operation)} (${printable(key)}) may have been called, and Tidemark no longer finds out whether it happened.`,
        );
      }
      return EXIT.ok;
    });

export const cancel = lifecycle('cancel');
export const terminate = lifecycle('terminate');
export const pause = lifecycle('pause');
export const resume = lifecycle('resume');

type Terminated = Answer<'POST /v1/workflows/{workflow}/terminate'>;
type Done = Omit<Terminated, 'open_effects'> & Partial<Pick<Terminated, 'open_effects'>>;

function ask(client: Client, act: LifecycleAct, id: string, why: string): Promise<Done> {
  const run = client.run(id);
  return act === 'terminate' ? run.terminate(why) : run[act](why);
}

function words(act: LifecycleAct, changed: boolean, place: Place): string {
  switch (act) {
    case 'cancel':
      return changed
        ? `is being cancelled: ${nextHolder(place)} undoes what can be compensated of it, and ends it.`
        : 'was cancelled before.';
    case 'terminate':
      return changed ? 'has ended: nothing was compensated.' : 'was ended before.';
    case 'pause':
      return changed ? 'is paused: steps under way finish, and nothing further starts.' : 'is paused already.';
    case 'resume':
      return changed ? 'goes on.' : "isn't paused.";
  }
}
