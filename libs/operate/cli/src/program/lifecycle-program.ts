/** Owns the arguments and options of `cancel`, `terminate`, `pause`, `resume`, `skip`, `take`, `pin` and `unpin`, and their help. Must hold no logic. */

import type { ProgramKit } from './program-kit.ts';
import { places, why } from './shared-options.ts';

const ACTS = [
  [
    'cancel',
    'end a workflow in good order: no further task starts, and what it did is compensated where that is registered',
  ],
  ['terminate', 'end a workflow at once, wherever it runs, without compensating anything'],
  ['pause', 'start no further task of a workflow until it is resumed'],
  ['resume', 'resume a paused workflow'],
] as const;

export function addLifecycle({ command, does }: ProgramKit): void {
  for (const [act, description] of ACTS) {
    why(places(command(act, description)).argument('<id>', 'id of the run')).action(
      does(() => import('../commands/lifecycle.ts'), act),
    );
  }
  const judging = [
    ['skip', 'continue without the unreadable record at which workflows stand; read it first'],
    [
      'take',
      "read that record once more, now that what was lacking is there; or take a workflow's history from before encryption",
    ],
  ] as const;
  for (const [judgement, description] of judging) {
    why(places(command(judgement, description)).argument('<ids...>', 'ids of the runs')).action(
      does(() => import('../commands/judge.ts'), judgement),
    );
  }
}

export function addPinning({ command, does }: ProgramKit): void {
  const pinning = [
    ['pin', 'keep a workflow to the version that it has'],
    ['unpin', 'let a pinned workflow use newer versions'],
  ] as const;
  for (const [name, description] of pinning) {
    why(places(command(name, description)).argument('<id>', 'id of the run')).action(
      does(() => import('../commands/pin.ts'), name),
    );
  }
}
