export { runCli } from './program/program.ts';
export type { Session } from './session.ts';
export { type Stream, Terminal, type TerminalOptions } from './terminal.ts';
