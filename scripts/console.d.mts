/** Types of console.mjs, which runs before anything is installed. */

export function isConsoleStale(): boolean;
export function buildConsole(node?: string): void;
