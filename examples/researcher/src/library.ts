// The folder that is asked about: its text files as passages (paragraphs under their heading), found by words. Knows no agent.

import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';

export interface Passage {
  /** Where it stands, as it is cited: `effects.md:12`. */
  readonly source: string;
  readonly heading: string;
  readonly text: string;
}

const TEXT_FILE = /\.(md|mdx|txt|rst|adoc|org)$/i;
const FILES_MAX = 2_000;
const FILE_MAX_BYTES = 1_048_576;
const PASSAGE_MAX_CHARS = 1_200;
const FOUND_MAX = 6;
const EXCERPT_MAX_CHARS = 100;

/** The passages that hold the words best, each with its source and how it begins. */
export async function search(folder: string, words: string): Promise<string> {
  const wanted = wordsOf(words);
  const passages = await passagesOf(folder);
  // A word that few passages hold says more.
  const weights = wanted.map((word) => {
    const holding = passages.filter((passage) => holds(passage, word)).length;
    return { word, weight: holding === 0 ? 0 : Math.log(1 + passages.length / holding) };
  });
  const found = passages
    .map((passage) => ({ passage, score: scoreOf(passage, weights) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || (a.passage.source < b.passage.source ? -1 : 1))
    .slice(0, FOUND_MAX);
  if (found.length === 0) return 'Nothing was found.';
  return found.map(({ passage }) => `${passage.source}  ${passage.heading}: ${excerpt(passage.text)}`).join('\n');
}

/** The passage of a source; a source outside of the folder is none. */
export async function read(folder: string, source: string): Promise<string> {
  const found = (await passagesOf(folder)).find((passage) => passage.source === source);
  return found === undefined ? `There is no passage ${source}.` : `${found.heading}\n${found.text}`;
}

/** Words worth looking for, in lower case. */
export const wordsOf = (text: string): readonly string[] => [
  ...new Set((text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? []).filter((word) => !COMMON.has(word))),
];

const COMMON = new Set(
  `about all and any are been but can could did does for from had has have how into its may not off one out over say
  should than that the their them then there these they this those was were what when where which who whose why will with
  would you your happen happens much many tell between`.split(/\s+/),
);

const holds = ({ heading, text }: Passage, word: string): boolean =>
  heading.toLowerCase().includes(stem(word)) || text.toLowerCase().includes(stem(word));

/** `effects` finds `effect`. */
export const stem = (word: string): string => (word.length > 4 ? word.replace(/(?:ing|ed|es|s)$/, '') : word);

function scoreOf(passage: Passage, weights: readonly { readonly word: string; readonly weight: number }[]): number {
  const held = weights.filter(({ word }) => holds(passage, word)).reduce((sum, { weight }) => sum + weight, 0);
  return held / (1 + passage.text.length / (4 * PASSAGE_MAX_CHARS));
}

const excerpt = (text: string): string => clean(text.replaceAll(/\s+/g, ' ').slice(0, EXCERPT_MAX_CHARS));

/** What a fragment takes: no NUL, and no half of a character that a cut has torn. */
const clean = (text: string): string => text.replaceAll('\0', '').toWellFormed();

async function passagesOf(folder: string): Promise<readonly Passage[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile() && TEXT_FILE.test(entry.name))
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .filter((name) => !name.split(path.sep).some((part) => part === 'node_modules' || part.startsWith('.')))
    .sort()
    .slice(0, FILES_MAX);
  const found: Passage[] = [];
  for (const name of files) {
    const file = path.join(folder, name);
    if ((await stat(file)).size <= FILE_MAX_BYTES) found.push(...split(name, await readFile(file, 'utf8')));
  }
  return found;
}

/** Paragraphs, list blocks and rows of tables; code is no text. */
function split(name: string, text: string): readonly Passage[] {
  const passages: Passage[] = [];
  let heading = name;
  let isCode = false;
  let open: { readonly line: number; readonly lines: string[] } | undefined;
  const close = (): void => {
    const body = open?.lines.join('\n').trim() ?? '';
    if (open !== undefined && /\p{L}/u.test(body)) {
      passages.push({ source: `${name}:${open.line}`, heading, text: clean(body.slice(0, PASSAGE_MAX_CHARS)) });
    }
    open = undefined;
  };
  for (const [at, line] of text.split(/\r?\n/).entries()) {
    const isFence = /^\s*```/.test(line);
    const title = isCode ? undefined : /^#{1,6} (.+)$/.exec(line)?.[1];
    const isRow = line.startsWith('|');
    if (isFence || title !== undefined || isRow || line.trim() === '') close();
    if (isFence) isCode = !isCode;
    else if (title !== undefined) heading = clean(title);
    else if (!isCode && line.trim() !== '') {
      open ??= { line: at + 1, lines: [] };
      open.lines.push(line);
      if (isRow) close();
    }
  }
  close();
  return passages;
}
