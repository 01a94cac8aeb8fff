/** Owns what the program gives to those who add commands to it. */

import type { Command } from 'commander';
import type { Session } from '../session.ts';

export interface ProgramKit {
  /** A command of the program. */
  readonly command: (usage: string, description: string) => Command;
  /** Makes an action of a command. */
  readonly does: <Given extends readonly unknown[]>(
    command: (...given: [Session, ...Given]) => Promise<number>,
  ) => (...given: [...Given, Command]) => Promise<void>;
  /** Adds the options for state and JSON. */
  readonly common: (command: Command) => Command;
  /** Adds the options for where it asks, and for JSON. */
  readonly places: (command: Command) => Command;
}

/** For commands that need workflows' modules. */
export interface ModulesKit extends ProgramKit {
  /** Options with the modules that the environment names, where none were given. */
  readonly listed: <T extends { readonly workflows?: readonly string[] | undefined }>(options: T) => T;
  /** Adds the option for modules. */
  readonly modules: (command: Command) => Command;
}
