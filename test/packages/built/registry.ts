/**
 * Owns a registry on this machine that has the packed packages of a build, and sends every other question on to the registry that npm is
 * set to. So what the README says of `npm install` is run as it stands, before anything is published. Takes no publication.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { BuiltManifest } from '../../../scripts/build/manifest.ts';

export interface StandInRegistry {
  /** Ends with a slash. */
  readonly url: string;
  /** Packages of the build that were asked for, by name. */
  readonly asked: ReadonlySet<string>;
  close(): Promise<void>;
}

export interface Packed {
  readonly manifest: Pick<BuiltManifest, 'name' | 'version' | 'exports'>;
  readonly tarball: string;
}

/** What `npm run build` left in `dist`. */
export function readPacked(dist: string): Packed[] {
  const packages = path.join(dist, 'packages');
  return readdirSync(packages)
    .flatMap((name) =>
      name.startsWith('@') ? readdirSync(path.join(packages, name)).map((in_) => `${name}/${in_}`) : [name],
    )
    .map((name) => {
      const manifest = JSON.parse(
        readFileSync(path.join(packages, name, 'package.json'), 'utf8'),
      ) as Packed['manifest'];
      const file = `${name.replace(/^@/, '').replace('/', '-')}-${manifest.version}.tgz`;
      const [started, more] = ['tarballs', 'tarballs/more'].map((folder) => path.join(dist, folder, file));
      return { manifest, tarball: existsSync(started!) ? started! : more! };
    });
}

/** `upstream`: where all other packages are, with a slash at its end; undefined: nowhere, and nobody is asked. */
export async function serveRegistry(all: readonly Packed[], upstream: string | undefined): Promise<StandInRegistry> {
  const asked = new Set<string>();
  const server = createServer((request, response) => {
    const place = decodeURIComponent(new URL(request.url ?? '/', 'http://localhost').pathname).slice(1);
    const tarball = all.find((packed) => place === `-/${path.basename(packed.tarball)}`);
    if (tarball !== undefined) return void response.end(readFileSync(tarball.tarball));
    const packed = all.find(({ manifest }) => place === manifest.name);
    if (packed !== undefined) {
      asked.add(packed.manifest.name);
      response.setHeader('content-type', 'application/json');
      return void response.end(JSON.stringify(documentOf(packed, url)));
    }
    if (upstream === undefined) return void response.writeHead(404).end('{}');
    response.writeHead(307, { location: new URL((request.url ?? '/').slice(1), upstream).href }).end();
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    url,
    asked,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function documentOf({ manifest, tarball }: Packed, url: string): object {
  const bytes = readFileSync(tarball);
  const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
  const dist = { tarball: `${url}-/${path.basename(tarball)}`, integrity };
  return {
    name: manifest.name,
    'dist-tags': { latest: manifest.version },
    versions: { [manifest.version]: { ...manifest, dist } },
  };
}
