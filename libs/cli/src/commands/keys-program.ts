/** Owns the arguments and options of `keys` and `forget`, and their help. Must hold no logic. */

import { type ForgetOptions, forgetForGood, keysRewrap, keysRotate, keysShow } from './keys.ts';
import type { MemoryOptions } from './memory-place.ts';
import type { ProgramKit } from './program-kit.ts';
import { byWhy } from './shared-options.ts';

export function addKeys({ command, does, common }: ProgramKit): void {
  const parent = command('keys', 'tell which keys protect history, and wrap data keys anew').helpCommand(false);
  const sub = (usage: string, what: string, isDefault = false) =>
    common(parent.command(usage, { isDefault }).description(what).copyInheritedSettings(parent));
  sub('show', 'how many data keys each key has wrapped', true).action(does<[MemoryOptions]>(keysShow));
  sub('rotate', 'add a key to each key file, which wraps from now on').action(does<[MemoryOptions]>(keysRotate));
  sub('rewrap', 'wrap with the current key what older ones wrapped').action(does<[MemoryOptions]>(keysRewrap));
  const forget = common(
    command('forget', 'destroy the keys of a run or of a user: what they said can never be read again'),
  )
    .option('--workflow <id>', 'the run to forget; it must have ended')
    .option('--user <name>', 'the user to forget: their runs, and what is remembered of them')
    .option('--tenant <name>', 'whose it is (default: default)');
  byWhy(forget, 'the certificate').action(does<[ForgetOptions]>(forgetForGood));
}
