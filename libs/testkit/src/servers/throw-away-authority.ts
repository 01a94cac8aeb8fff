/** Owns certificates for tests: an authority that lives for a day in a folder, and the certificates that it signs. Created with openssl's command. */

import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const CURVE = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
/** Short, as the name says. */
const DAYS = '1';

/** Paths of PEM files. */
export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

export class ThrowAwayAuthority {
  /** Path of its own certificate. */
  readonly ca: string;
  readonly #folder: string;
  readonly #key: string;

  private constructor(folder: string) {
    this.#folder = folder;
    this.ca = path.join(folder, 'ca.pem');
    this.#key = path.join(folder, 'ca.key');
  }

  /** In a new folder of its own. */
  static async make(folder: string, name = 'throw-away authority'): Promise<ThrowAwayAuthority> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const authority = new ThrowAwayAuthority(folder);
    const { ca } = authority;
    const about = ['-subj', `/CN=${name}`, '-addext', 'keyUsage=critical,keyCertSign,cRLSign'];
    await run('openssl', ['req', '-x509', ...CURVE, '-keyout', authority.#key, '-out', ca, '-days', DAYS, ...about]);
    return authority;
  }

  /** For 127.0.0.1 and localhost, unless other names are given (`DNS:example.org`); `expired`: it ended yesterday. */
  async sign(
    name: string,
    {
      names = 'IP:127.0.0.1,DNS:localhost',
      expired = false,
    }: { readonly names?: string; readonly expired?: boolean } = {},
  ): Promise<CertificateFiles> {
    const at = (ending: string): string => path.join(this.#folder, `${name}.${ending}`);
    const [cert, key, request, extensions] = [at('pem'), at('key'), at('csr'), at('ext')];
    await run('openssl', ['req', ...CURVE, '-keyout', key, '-out', request, '-subj', `/CN=${name}`]);
    await writeFile(extensions, `subjectAltName=${names}\n`);
    const signing = ['-CA', this.ca, '-CAkey', this.#key, '-CAcreateserial', '-days', expired ? '-1' : DAYS];
    await run('openssl', ['x509', '-req', '-in', request, ...signing, '-extfile', extensions, '-out', cert]);
    return { cert, key };
  }
}

/** The texts of the files, as connections take them. */
export async function pemOf(files: Partial<CertificateFiles> & { readonly ca?: string }) {
  const entries = await Promise.all(
    Object.entries(files).map(async ([name, file]) => [name, await readFile(file, 'utf8')] as const),
  );
  return Object.fromEntries(entries) as { readonly ca?: string; readonly cert?: string; readonly key?: string };
}
