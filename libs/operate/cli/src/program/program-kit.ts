/** Owns what the program gives to those who add commands to it. */

import type { Command } from 'commander';
import type { Session } from '../session.ts';

export interface ProgramKit {
  /** A command of the program. */
  readonly command: (usage: string, description: string) => Command;
  readonly does: Does;
  /** Adds the option for workflows' modules. */
  readonly modules: (command: Command) => Command;
}

/** The action of a command out of its module, which is read when the command is called: others do not wait for it. */
export type Does = <Name extends string, Module extends { readonly [Each in Name]: Performed }>(
  load: () => Promise<Module>,
  name: Name,
) => (...given: unknown[]) => Promise<void>;

/** Resolves to the exit code. */
type Performed = (session: Session, ...given: never[]) => Promise<number>;
