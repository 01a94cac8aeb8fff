/** Owns asking the cluster's API server as its admin: single requests at once, and kubectl and helm for what those know better. */

import { type ExecFileException, execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';

const ANSWER_MAX_MS = 20_000;
const COMMAND_MAX_MS = 240_000;
const OUTPUT_MAX_BYTES = 16_777_216;

// biome-ignore lint/suspicious/noExplicitAny: objects of Kubernetes, of which a few fields are read
export type Thing = any;

export class Kube {
  readonly #agent: Agent;
  readonly #env: NodeJS.ProcessEnv;
  readonly #server: string;

  constructor(server: string, run: string) {
    const file = (name: string): Buffer => readFileSync(`${run}/pki/${name}`);
    this.#server = server;
    this.#agent = new Agent({ keepAlive: true, ca: file('ca.crt'), cert: file('admin.crt'), key: file('admin.key') });
    const helm = Object.fromEntries(['CACHE', 'CONFIG', 'DATA'].map((what) => [`HELM_${what}_HOME`, `${run}/helm`]));
    this.#env = { ...process.env, ...helm, KUBECONFIG: `${run}/pki/admin.conf`, HOME: run };
  }

  ask(method: string, path: string, body?: object): Promise<Thing> {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    return new Promise((resolve, reject) => {
      const asked = request(this.#server + path, {
        method,
        agent: this.#agent,
        headers: { 'content-type': type },
        signal: AbortSignal.timeout(ANSWER_MAX_MS),
      });
      asked.once('error', reject);
      asked.once('response', (response) => {
        let text = '';
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.once('end', () => {
          if ((response.statusCode ?? 0) < 300) resolve(text.startsWith('{') ? JSON.parse(text) : text);
          else reject(new Error(`${method} ${path}: ${response.statusCode} ${text.slice(0, 300)}`));
        });
      });
      asked.end(body && JSON.stringify(body));
    });
  }

  kubectl(...args: readonly string[]): Promise<string> {
    return this.#run('kubectl', args);
  }

  helm(...args: readonly string[]): Promise<string> {
    return this.#run('helm', args);
  }

  /** What kubectl applies from its standard input. */
  apply(manifest: string): Promise<string> {
    return this.#run('kubectl', ['apply', '--server-side', '--force-conflicts', '-f', '-'], manifest);
  }

  #run(program: string, args: readonly string[], input = ''): Promise<string> {
    return new Promise((resolve, reject) => {
      const options = { env: this.#env, timeout: COMMAND_MAX_MS, maxBuffer: OUTPUT_MAX_BYTES };
      const done = (error: ExecFileException | null, out: string, errors: string): void => {
        if (error === null) resolve(out);
        else reject(new Error(`${program} ${args.slice(0, 4).join(' ')}: ${errors || error.message}`));
      };
      execFile(program, [...args], options, done).stdin?.end(input);
    });
  }
}
