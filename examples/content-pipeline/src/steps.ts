// Five plain steps that make a digest of a folder of Markdown. They work by rule, so that everybody gets the same digest
// without a model's key; where a real one would ask a model, it says so. Nothing in here knows how it is run.

import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { PipelineContext } from '@tidemark/sdk';

export interface Article {
  readonly path: string;
  readonly title: string;
  readonly wordCount: number;
  /** Its first paragraph. */
  readonly lead: string;
  readonly headings: readonly string[];
}

export interface Draft {
  readonly title: string;
  readonly path: string;
  readonly text: string;
}

const ARTICLE_WORDS_MIN = 150;
const ARTICLES_MAX = 10;
const TEXT_MAX_CHARS = 240;
const HEADINGS_SHOWN = 4;

export async function collect({ folder }: { folder: string }, ctx: PipelineContext): Promise<Article[]> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.md')).sort();
  const articles = await Promise.all(
    names.map(async (name) => article(name, await readFile(path.join(folder, name), 'utf8'))),
  );
  ctx.handoff(`${articles.length} articles, by path; some are short.`, names);
  return articles;
}

export function filter(articles: readonly Article[], ctx: PipelineContext): Article[] {
  const long = articles.filter(({ wordCount }) => wordCount >= ARTICLE_WORDS_MIN);
  const kept = long.sort((a, b) => b.wordCount - a.wordCount || a.path.localeCompare(b.path)).slice(0, ARTICLES_MAX);
  ctx.handoff(`The ${kept.length} longest of ${articles.length}; nothing below ${ARTICLE_WORDS_MIN} words.`);
  return kept;
}

/** A model would write these. */
export function draft(articles: readonly Article[]): Draft[] {
  return articles.map(({ title, path, lead, headings }) => {
    const covers = headings.slice(0, HEADINGS_SHOWN).join(', ');
    return { title, path, text: covers === '' ? lead : `${lead} It covers: ${covers}.` };
  });
}

/** And a second one would go over them. */
export function rewrite(drafts: readonly Draft[]): Draft[] {
  return drafts.map((one) => ({ ...one, text: shorten(plain(one.text)) }));
}

export function format(drafts: readonly Draft[]): string {
  const entries = drafts.map(({ title, path, text }, at) => `## ${at + 1}. ${title}\n\n${text}\n\nSource: ${path}\n`);
  return `# Digest\n\n${entries.join('\n')}`;
}

function article(name: string, text: string): Article {
  const blocks = text.replace(/```[\s\S]*?```/g, '').split(/\n{2,}/);
  const isProse = (block: string): boolean => /^[\p{L}*_`"[]/u.test(block.trim());
  return {
    path: name,
    title: plain(/^# (.+)$/m.exec(text)?.[1] ?? name),
    wordCount: text.split(/\s+/).filter((word) => word !== '').length,
    lead: (blocks.find(isProse) ?? '').trim(),
    headings: [...text.matchAll(/^## (.+)$/gm)].map(([, heading]) => plain(heading ?? '')),
  };
}

const plain = (text: string): string =>
  text
    .replace(/\[([^[\]]*)\]\([^()]*\)/g, '$1')
    .replace(/[*_`]/g, '')
    .replace(/\s+/g, ' ')
    .trim();

/** At the end of a sentence where there is one, else of a word. */
function shorten(text: string): string {
  if (text.length <= TEXT_MAX_CHARS) return text;
  const head = text.slice(0, TEXT_MAX_CHARS);
  const sentence = head.lastIndexOf('. ');
  return sentence > TEXT_MAX_CHARS / 2 ? head.slice(0, sentence + 1) : `${head.slice(0, head.lastIndexOf(' '))} …`;
}
