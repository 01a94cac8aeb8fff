/** Owns reading the README's quick start: what a reader pastes, as it stands. */
import { readFileSync } from 'node:fs';
import path from 'node:path';

const README = path.resolve(import.meta.dirname, '../../../README.md');
const FENCE = /^```(\S*)(?: (\S+))?\n([\s\S]*?)^```$/gm;

export interface QuickStart {
  /** Makes the folder and installs the packages. */
  readonly install: string;
  /** The folder that it makes. */
  readonly folder: string;
  readonly file: { readonly name: string; readonly text: string };
  /** Commands that end by themselves. */
  readonly commands: readonly string[];
  /** The one that keeps running. */
  readonly dev: string;
  /** Installs the compiler, and checks types. */
  readonly checks: { readonly install: string; readonly compile: string };
  /** Installs the packages of a clone's build, in place of those of the registry. */
  fromTarballs(clone: string): string;
}

/** Throws when the README has no section of the kind. */
export function quickStart(): QuickStart {
  const section = /^## As a package\n([\s\S]*?)^## /m.exec(readFileSync(README, 'utf8'))?.[1] ?? '';
  const fences = [...section.matchAll(FENCE)].map(([, language, name, text]) => ({ language, name, text: text! }));
  const [install, then, types] = fences.filter(({ language }) => language === 'sh').map(({ text }) => text);
  const source = fences.find(({ language }) => language === 'ts');
  const folder = /^mkdir (\S+) && cd \1$/m.exec(install ?? '')?.[1];
  const [compiler, compile] = (types ?? '').trim().split('\n');
  const tarballs = /`npm install CLONE([^`]*)`/.exec(section)?.[1];
  const lines = (then ?? '').trim().split('\n');
  const dev = lines.find((line) => /\btidemark dev\b/.test(line));
  const parts = { install, folder, name: source?.name, dev, compile, tarballs };
  const missing = Object.entries(parts).filter(([, part]) => part === undefined);
  if (missing.length > 0)
    throw new Error(`README.md, "As a package", lacks: ${missing.map(([name]) => name).join(', ')}`);
  return {
    ...{ install: install!, folder: folder!, dev: dev!, checks: { install: compiler!, compile: compile! } },
    file: { name: source!.name!, text: source!.text },
    commands: lines.filter((line) => line !== dev),
    fromTarballs: (clone) => install!.replace(/^npm install .*$/m, `npm install ${clone}${tarballs}`),
  };
}
