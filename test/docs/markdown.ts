/** Owns reading the project's Markdown: which pages there are, and their fenced code, headings and links. */

import { globSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

export const ROOT = path.resolve(import.meta.dirname, '../..');
/** Folders below which every page counts; `fixtures`, and what is installed or made, do not. */
const FOLDERS = ['docs', 'examples', 'libs', 'services', 'deploy', 'helm', 'test'];
const NOT_OURS = /^docs\/site\/|(?:^|\/)(?:node_modules|fixtures|dist|\.\w+)(?:\/|$)/;

/** What `npm run docs` makes of declarations (scripts/reference.ts). */
export const MADE = ['sdk', 'api', 'metrics', 'events', 'configuration'].map((name) => `docs/${name}.md`);

export interface Fence {
  /** What stands behind the opening backticks, in words: language, then whatever else. */
  readonly info: readonly string[];
  readonly text: string;
  /** Of the opening backticks, from 1. */
  readonly line: number;
}

export interface Link {
  /** As it is written: `page.md#section`, an address, `#section`. */
  readonly target: string;
  readonly line: number;
}

export interface Page {
  /** From the root, with slashes. */
  readonly file: string;
  readonly fences: readonly Fence[];
  readonly links: readonly Link[];
  /** What headings and explicit anchors can be linked by. */
  readonly anchors: ReadonlySet<string>;
}

/** Every page that is committed, by path. */
export function pages(): readonly Page[] {
  // What is not ours is not entered: somebody may install packages there meanwhile.
  const found = globSync(`{${FOLDERS.join(',')}}/**/*.md`, { cwd: ROOT, exclude: (name) => NOT_OURS.test(name) });
  const files = found
    .map((name) => name.split(path.sep).join('/'))
    .filter((file) => !NOT_OURS.test(file) && !MADE.includes(file));
  const ownRoot = readdirSync(ROOT).filter((name) => name.endsWith('.md'));
  return [...ownRoot, ...files].sort().map((file) => pageOf(file, readFileSync(path.join(ROOT, file), 'utf8')));
}

export function pageOf(file: string, text: string): Page {
  const fences: Fence[] = [];
  const links: Link[] = [];
  const anchors = new Set<string>();
  const headings = new Map<string, number>();
  let open: { readonly mark: string; readonly info: readonly string[]; readonly line: number } | undefined;
  let code: string[] = [];
  for (const [at, line] of text.split('\n').entries()) {
    const mark = /^\s*(`{3,}|~{3,})(.*)$/.exec(line);
    if (open !== undefined) {
      if (mark?.[1]?.startsWith(open.mark) === true && mark[2]!.trim() === '') {
        fences.push({ info: open.info, line: open.line, text: code.map((one) => `${one}\n`).join('') });
        open = undefined;
      } else code.push(line);
    } else if (mark !== null) {
      open = { mark: mark[1]!, info: mark[2]!.trim().split(/\s+/), line: at + 1 };
      code = [];
    } else {
      const heading = /^#{1,6}\s+(.*?)\s*#*$/.exec(line)?.[1];
      if (heading !== undefined) {
        const slug = slugOf(heading);
        const count = headings.get(slug) ?? 0;
        headings.set(slug, count + 1);
        anchors.add(count === 0 ? slug : `${slug}-${count}`);
      }
      for (const [, id] of line.matchAll(/<a (?:id|name)="([^"]+)"/g)) anchors.add(id!);
      const prose = line.replace(/`[^`]*`/g, (text) => 'x'.repeat(text.length));
      for (const [, target] of prose.matchAll(/\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g)) {
        links.push({ target: target!, line: at + 1 });
      }
      for (const [, target] of prose.matchAll(/^\[[^\]]+\]:\s+(\S+)/g)) links.push({ target: target!, line: at + 1 });
    }
  }
  return { file, fences, links, anchors };
}

/** As GitHub makes it of a heading: its text without marks, lower case, without punctuation, spaces as hyphens. */
export const slugOf = (heading: string): string =>
  heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[`*]|(?<!\w)_|_(?!\w)/g, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}\s_-]/gu, '')
    .replace(/\s/g, '-');
