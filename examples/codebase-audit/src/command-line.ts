// Owns what can be said on the command line, and what each part means when it is left out.

import { parseArgs } from 'node:util';
import { TidemarkError } from '@tidemark/sdk';

export type Command = {
  /** As given; the working folder by default. */
  path: string;
  /** Undefined: `.tidemark`, or the cluster that the environment names. */
  state: string | undefined;
  out: string;
  fresh: boolean;
};

export const DEFAULT_STATE = '.tidemark';
export const DEFAULT_OUT = '.audit';

export const USAGE = `Audits a folder of JavaScript and TypeScript: what imports what, and what to worry about.

  npm start [-- PATH] [--state FOLDER] [--out FOLDER] [--fresh]

  PATH            folder to audit; the working folder by default
  --state FOLDER  where the state is kept, from which a stopped audit resumes; default ${DEFAULT_STATE}
  --out FOLDER    where audit-report.md and audit-report.json are written; default ${DEFAULT_OUT}
  --fresh         begin with the first file, whatever is kept of this tree
  --help          this text

Stopped anywhere, the same command resumes where it was. Ctrl-C hands over and exits with 130.
With TIDEMARK_KAFKA_BROKERS in the environment, and no --state, the audit runs on that cluster's workers.

Exit codes: 0 the report is written; 1 the audit failed; 64 wrong usage; 65 nothing to audit at PATH; 69 a server is absent;
74 the state is damaged; 78 the state is in use, of a newer version, or a setting is wrong; 130 Ctrl-C, 143 SIGTERM.
`;

/** Wrong usage: an unknown option, or one without its value. */
export class UsageError extends TidemarkError {
  override readonly name = 'UsageError';
}

/** Undefined: the usage is asked for. */
export function readCommand(args: readonly string[]): Command | undefined {
  const { values, positionals } = parsed(args);
  if (values.help === true) return undefined;
  if (positionals.length > 1) throw usage(`one PATH at most, not ${positionals.length}: ${positionals.join(' ')}`);
  const [path = '.'] = positionals;
  const { state, out = DEFAULT_OUT, fresh = false } = values;
  for (const [name, value] of Object.entries({ PATH: path, '--state': state, '--out': out })) {
    if (value === '') throw usage(`${name} is empty`);
  }
  return { path, state, out, fresh };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        state: { type: 'string' },
        out: { type: 'string' },
        fresh: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw usage(error instanceof Error ? error.message : String(error));
  }
}

const usage = (problem: string): UsageError => new UsageError('usage', `${problem} (--help shows the usage)`);
