/** `node test/console/look.ts [PORT]`: serves the console over a folder as a busy and unlucky day leaves it, until it is ended. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { builtConsole, listenApi, localAuthenticator } from '@tidemark/api';
import { connect } from '@tidemark/client';
import { eventually } from '@tidemark/testkit/eventually';
import { counter } from './agents.ts';
import { definitions, openSeeded, seed } from './seed.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const port = Number(process.argv[2] ?? 7_071);
const folder = path.join(await mkdtemp(path.join(tmpdir(), 'tidemark-look-')), 'state');

await killOne();
const host = await openSeeded(folder);
await seed(host);
await takeAway();
const { url } = await listenApi({
  ...{ place: host, definitions, authenticator: localAuthenticator, host: '127.0.0.1', port },
  consoleFolder: builtConsole(),
  onError: (where, error) => console.error(where, error),
});
console.log(url);

/** A review whose process is killed in the middle of a model call. */
async function killOne(): Promise<void> {
  const args = ['libs/operate/cli/src/main.ts', 'dev', '--workflows', 'test/console/agents.ts', '--state', folder];
  const child = spawn(process.execPath, [...args, '--port', String(port)], {
    ...{ cwd: ROOT, stdio: 'ignore' },
    env: { ...process.env, CONSOLE_PAUSE_MS: '700' },
  });
  const client = connect({ url: `http://127.0.0.1:${port}`, tries: 1 });
  const within = { timeoutMs: 60_000 };
  await eventually(() => client.list(), within);
  const input = { repository: 'acme/payments', modules: 8 };
  const run = await client.start('code-review', input, { id: 'review-payments-1182', session: 'acme-q3', user: 'ana' });
  await eventually(async () => (await run.get()).sequence_number >= 5, within);
  child.kill('SIGKILL');
  await once(child, 'close');
}

/** A lease that is taken while its holder works: what it writes after that is rejected. */
async function takeAway(): Promise<void> {
  const run = await host.client.start(counter, { steps: 12, pauseMs: 150, breaks: false }, { id: 'backfill-moved' });
  await eventually(async () => ((await run.summary())?.sequence ?? 0) >= 3, { timeoutMs: 20_000 });
  await host.client.revoke(run.id);
  await run.result();
}
