/** Owns the options of `tidemark mcp`, and their help. Must hold no logic. */

import { digests, nameText, wholeNumber } from '../arguments.ts';
import type { OptionsIn, ProgramKit } from './program-kit.ts';
import { places } from './shared-options.ts';

const AFTER = `
Without --http it speaks over standard input and output, for an assistant that starts it. States in a repository need nothing
else; sessions and memory are asked as by other commands (--state, --context). TIDEMARK_MCP_TOKEN is the token that clients send over HTTP; a host
other than this machine's own needs one.`;

export const mcpCommands = ({ command }: ProgramKit) => ({
  mcp: places(
    command('mcp', 'serve an assistant: its state, sessions and memory as tools of the Model Context Protocol'),
  )
    .option('--http <port>', 'serve over HTTP at /mcp on this port; 0: a free one', wholeNumber(0, 65_535))
    .option('--host <address>', 'with --http: listen there (default: 127.0.0.1)')
    .option('--allow-host <names...>', 'with --http: further names by which the server is reached')
    .option('--allow-origin <origins...>', 'with --http: web pages that may use it, such as https://example.com')
    .option('--dir <folder>', 'the place of states (default: the git repository that this folder is in)')
    .option('--tenant <name>', 'whose sessions and memory (default: your own, else default)', nameText)
    .option('--user <name>', 'serve the memory of this user alone (default: calls name users)')
    .option('--allow-check <digests...>', 'run these checks of stages, which are commands (default: none)', digests)
    .addHelpText('after', AFTER),
});

export type McpCommandOptions = OptionsIn<typeof mcpCommands>['mcp'];
