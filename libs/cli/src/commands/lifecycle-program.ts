/** Owns the arguments and options of `cancel`, `terminate`, `pause` and `resume`, and their help. Must hold no logic. */

import type { LifecycleAct } from '@tidemark/runtime';
import { type LifecycleOptions, lifecycle } from './lifecycle.ts';
import type { CommandKit } from './recovery-program.ts';

const ACTS: readonly (readonly [LifecycleAct, string])[] = [
  [
    'cancel',
    'end a workflow in good order: no further task starts, and what it did is undone where that is registered',
  ],
  ['terminate', 'end a workflow at once, whoever runs it, without undoing anything'],
  ['pause', 'start no further task of a workflow until it is resumed'],
  ['resume', 'let a paused workflow go on'],
];

export function addLifecycle({ command, does, common }: Pick<CommandKit, 'command' | 'does' | 'common'>): void {
  for (const [act, description] of ACTS) {
    common(command(act, description))
      .argument('<id>', 'id of the run')
      .requiredOption('--by <name>', 'who decides it')
      .requiredOption('--why <text>', 'the reason, kept with the decision')
      .action(does<[string, LifecycleOptions]>(lifecycle(act)));
  }
}
