/** Lets the worker's own code write a deletion cost, once, to the API server that apiserver.sh has started: FOLDER PORT POD. */

import { keepDeletionCost } from '@tidemark/host';

const [accountFolder = '', port = '', pod = ''] = process.argv.slice(2);
const GIVE_UP_MS = 20_000;
let askedCount = 0;

const stop = keepDeletionCost({
  api: { host: '127.0.0.1', port: Number(port), accountFolder },
  pod,
  of: () => {
    // Asked once more when the first was written.
    askedCount += 1;
    if (askedCount > 1) end(0);
    return { workflowCount: 2, stepMs: 90_000 };
  },
  onError: (_, error) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    end(1);
  },
  periodMs: 100,
});

const timer = setTimeout(() => end(1), GIVE_UP_MS);

function end(code: number): void {
  stop?.();
  clearTimeout(timer);
  process.exit(code);
}
