/** Owns a measured process's end of the channel to the bench: it says that it is ready, and answers commands. */

import type { Answer, Command, Given, RunRequest } from './protocol.ts';

export interface Handlers {
  readonly run?: (request: RunRequest) => Promise<void>;
  readonly wake?: (request: RunRequest) => Promise<void>;
  readonly takeOver?: (given: readonly Given[]) => Promise<void>;
}

/** The process ends with its parent. */
export function serve(handlers: Handlers = {}): void {
  process.on('message', (command: Command) => void answer(handlers, command));
  process.on('disconnect', () => process.exit(0));
  say({ id: 0 });
}

async function answer({ run, wake, takeOver }: Handlers, command: Command): Promise<void> {
  const start = performance.now();
  try {
    if (command.run !== undefined) await run!(command.run);
    if (command.wake !== undefined) await wake!(command.wake);
    if (command.takeOver !== undefined) await takeOver!(command.takeOver);
    say({ id: command.id, tookMs: performance.now() - start });
  } catch (error) {
    say({ id: command.id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
}

function say(message: Answer): void {
  process.send?.(message);
}

export function required(variable: string): string {
  const value = process.env[variable];
  if (value === undefined || value === '')
    throw new Error(`${variable} is not set: start it by npm run bench -- peers`);
  return value;
}
