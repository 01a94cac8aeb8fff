/** Owns what modules need to add commands to the program. */

import type { Command } from 'commander';
import type { Session } from '../session.ts';

export interface ProgramKit {
  /** A command of the program. */
  readonly command: (usage: string, description: string) => Command;
  readonly does: Does;
  /** Adds the option for workflows' modules. */
  readonly modules: (command: Command) => Command;
}

/** The action of a command from its module, which is loaded when the command is called, so that others do not wait for it. */
export type Does = <Name extends string, Module extends { readonly [Each in Name]: Performed }>(
  load: () => Promise<Module>,
  name: Name,
) => (...given: unknown[]) => Promise<void>;

/** Resolves to the exit code. */
type Performed = (session: Session, ...given: never[]) => Promise<number>;
