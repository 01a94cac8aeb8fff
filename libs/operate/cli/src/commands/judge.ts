/** Owns `tidemark skip` and `tidemark take`: the decision about an unreadable record, with its author and reason. */

import type { Answer } from '@tidemark/client';
import { EXIT } from '@tidemark/host/exit-codes';
import { atPlace, type PlaceOptions } from '../place/place.ts';
import type { Session } from '../session.ts';
import { printable } from '../text/width.ts';

const JUDGE = 'POST /v1/workflows/{workflow}/judgements';

export interface JudgeOptions extends PlaceOptions {
  readonly by?: string | undefined;
  readonly why: string;
}

const judge =
  (judgement: 'skip' | 'take') =>
  (session: Session, ids: readonly string[], options: JudgeOptions): Promise<number> =>
    atPlace(session, { ...options, how: 'read' }, async ({ client }) => {
      const { terminal } = session;
      const judged: Answer<typeof JUDGE>[] = [];
      try {
        for (const workflow of ids) {
          const done = await client.ask(JUDGE, { params: { workflow }, body: { judgement, why: options.why } });
          judged.push(done);
          const what = judgement === 'skip' ? 'goes on without' : 'has taken';
          terminal.line(`${printable(done.workflow)} ${what} the record at offset ${done.offset} (${done.problem}).`);
        }
      } finally {
        // Earlier decisions stand even when a later one fails.
        if (judged.length > 0) terminal.answer({ judged });
      }
      return EXIT.ok;
    });

export const skip = judge('skip');
export const take = judge('take');
