// Owns what a command asks for, checked before any state is opened: a tree with source files in it, and a place for the report.

import { createHash } from 'node:crypto';
import { access, constants, mkdir } from 'node:fs/promises';
import { relative, resolve, sep } from 'node:path';
import { ConfigError, InvalidError } from '@tidemark/sdk';
import type { Command } from './command-line.ts';
import { openRoot, survey } from './discover.ts';
import { modelFromEnvironment } from './model-choice.ts';
import { SOURCE_EXTENSIONS } from './paths.ts';
import { REPORT_VERSION } from './report.ts';
import type { AuditInput } from './workflow.ts';

export type Wanted = { input: AuditInput; files: number };
type Environment = Readonly<Record<string, string | undefined>>;

/** `stateFolder`: absolute; it is left out of the tree, where it lies in it. Throws `InvalidError` when there is nothing to audit. */
export async function readWanted(command: Command, stateFolder: string | null, env: Environment): Promise<Wanted> {
  const root = await openRoot(command.path);
  if (!root.ok) throw new InvalidError('path-unreadable', `${root.reason}. Name a folder with source code.`);
  const skipPaths = stateFolder === null ? [] : pathsInside(root.path, stateFolder);
  const { files, digest } = await survey(root.path, { skipPaths });
  if (files === 0) {
    const kinds = SOURCE_EXTENSIONS.join(' ');
    throw new InvalidError(
      'nothing-to-audit',
      `${command.path} holds no source file (${kinds}) outside .git, node_modules and dist.`,
    );
  }
  // With another model, or none, the report would be another one.
  const settings = JSON.stringify([REPORT_VERSION, digest, modelFromEnvironment(env)?.name ?? null]);
  const fingerprint = createHash('sha256').update(settings).digest('hex');
  const { path, label } = root;
  return { input: { root: path, label, out: resolve(command.out), skipPaths, fingerprint }, files };
}

/** The folder relative to the root, with forward slashes; nothing when it lies elsewhere. */
function pathsInside(root: string, folder: string): string[] {
  const inside = relative(root, folder);
  return inside === '' || inside.startsWith('..') ? [] : [inside.split(sep).join('/')];
}

/** Makes the report's folder. Better told now than after all files were parsed. */
export async function prepareOut(out: string, shown: string): Promise<void> {
  try {
    await mkdir(out, { recursive: true });
    await access(out, constants.W_OK);
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    throw new ConfigError(
      'out-unusable',
      `The report can't be written to ${shown} (${code}). Name another folder with --out.`,
      {
        cause,
      },
    );
  }
}
