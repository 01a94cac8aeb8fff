/** `node test/console/look.ts [PORT]`: serves the console over a folder that `seed` filled, until it is ended. */

import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { builtConsole, listenApi, localAuthenticator } from '@tidemark/api';
import { definitions, openSeeded, seed } from './seed.ts';

const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-look-'));
const host = await openSeeded(path.join(folder, 'state'));
await seed(host);
const { url } = await listenApi({
  place: host,
  definitions,
  authenticator: localAuthenticator,
  host: '127.0.0.1',
  port: Number(process.argv[2] ?? 7_071),
  consoleFolder: builtConsole(),
  onError: (where, error) => console.error(where, error),
});
console.log(url);
