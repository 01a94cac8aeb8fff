/**
 * Owns a folder with state for this library's own tests, and the hosts that were opened on it, so that none outlives its test. Must not be
 * used outside tests.
 */

import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { type EmbeddedOptions, openEmbedded, openEmbeddedIdle } from './embedded.ts';
import type { Host } from './host.ts';

type Options = Omit<EmbeddedOptions, 'folder'>;

export class FolderFixture {
  /** Holds the state and what lies beside it, such as keys. */
  readonly root: string;
  readonly #hosts = new Set<Host>();

  private constructor(root: string) {
    this.root = root;
  }

  static async make(): Promise<FolderFixture> {
    return new FolderFixture(await mkdtemp(path.join(tmpdir(), 'tidemark-host-')));
  }

  get state(): string {
    return path.join(this.root, 'state');
  }

  /** The address of a key file of that name beside the state. */
  keysUrl(name = 'keys'): string {
    return pathToFileURL(path.join(this.root, `${name}.json`)).href;
  }

  /** A host on the state, with its coordinator. */
  async open(options: Options = {}): Promise<Host> {
    return this.#owned(openEmbedded({ ...options, folder: this.state }));
  }

  /** A host without one. */
  async openIdle(options: Options = {}): Promise<Host> {
    return this.#owned(openEmbeddedIdle({ ...options, folder: this.state }));
  }

  async #owned(opening: Promise<Host>): Promise<Host> {
    const host = await opening;
    this.#hosts.add(host);
    return host;
  }

  async close(host: Host): Promise<void> {
    await host.close();
    this.#hosts.delete(host);
  }

  /** Files of the state that contain the text in clear, by their path in it. */
  async filesWith(text: string): Promise<readonly string[]> {
    const found: string[] = [];
    for (const entry of await readdir(this.state, { recursive: true, withFileTypes: true })) {
      const file = path.join(entry.parentPath, entry.name);
      if (entry.isFile() && (await readFile(file)).includes(text)) found.push(path.relative(this.state, file));
    }
    return found;
  }

  async end(): Promise<void> {
    for (const host of this.#hosts) await host.close();
    await rm(this.root, { recursive: true, force: true });
  }
}
