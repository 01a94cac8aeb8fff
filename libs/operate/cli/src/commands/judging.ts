/** Owns `tidemark skip` and `take`: what is done about a record that can't be read, with author and reason. */

import type { Answer } from '@tidemark/client';
import type { ProgramKit } from '../program/program-kit.ts';
import { places, why } from '../program/shared-options.ts';
import { printable } from '../text/width.ts';

export function addJudging(kit: ProgramKit): void {
  const judging = [
    ['skip', 'continue without the unreadable record that stops workflows; read it first', 'continues without'],
    [
      'take',
      "read that record again, once what was missing is back; or accept a workflow's history from before encryption",
      'has taken',
    ],
  ] as const;
  for (const [judgement, description, what] of judging) {
    why(places(kit.command(judgement, description)))
      .argument('<ids...>', 'ids of the runs')
      .action(
        kit.asks('read', (ids, { why }) => async ({ client, terminal }) => {
          const judged: Answer<'POST /v1/workflows/{workflow}/judgements'>[] = [];
          try {
            for (const workflow of ids) {
              const input = { params: { workflow }, body: { judgement, why } };
              const done = await client.ask('POST /v1/workflows/{workflow}/judgements', input);
              judged.push(done);
              terminal.line(
                `${printable(done.workflow)} ${what} the record at offset ${done.offset} (${done.problem}).`,
              );
            }
          } finally {
            // Earlier decisions stand even when a later one fails.
            if (judged.length > 0) terminal.answer({ judged });
          }
        }),
      );
  }
}
