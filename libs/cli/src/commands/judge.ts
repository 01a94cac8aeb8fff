/** Owns `tidemark skip` and `tidemark take`: what is done about a record that can't be read; who decided it, and why. */

import { EXIT } from '@tidemark/host';
import type { Judgement } from '@tidemark/runtime';
import type { Session } from '../session.ts';
import { atDesk } from '../state/at-desk.ts';
import { requireWorkflow } from '../state/require-workflow.ts';
import { printable } from '../text/width.ts';

export interface JudgeOptions {
  readonly by: string;
  readonly why: string;
  readonly state?: string | undefined;
}

export const judge =
  (judgement: Judgement) =>
  async (session: Session, ids: readonly string[], { by, why, state }: JudgeOptions): Promise<number> =>
    atDesk(session, { state, how: 'look' }, async (desk) => {
      const { terminal } = session;
      const judged = [];
      for (const id of ids) {
        const { workflow } = await requireWorkflow(desk, id);
        const { offset, problem } = await desk.judge(workflow, judgement, { by, why });
        judged.push({ workflow, offset, problem, judgement, by, why });
        const what = judgement === 'skip' ? 'goes on without' : 'has taken';
        terminal.line(`${printable(workflow)} ${what} the record at offset ${offset} (${problem}).`);
      }
      terminal.document({ judged });
      return EXIT.ok;
    });
