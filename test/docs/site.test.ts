/** The site (`npm run docs`) has each page of docs/ in its navigation. Building it, which finds dead links as well, takes a minute. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { MADE, pages, ROOT } from './markdown.ts';

const OF_ROOT = ['contributing', 'security'];

it('the front page can be read', () => {
  const home = parse(readFileSync(path.join(ROOT, 'docs/site/home.yaml'), 'utf8'));
  expect(home.hero.tagline).toMatch(/\.$/);
});

it('the navigation has every page', () => {
  const config = readFileSync(path.join(ROOT, 'docs/site/.vitepress/config.ts'), 'utf8');
  const sidebar = config.slice(config.indexOf('sidebar: ['));
  const listed = [...sidebar.matchAll(/^ {10,}'?([a-z/-]+)'?: '[^']+',?$/gm)].map(([, name]) => name!);
  const inLine = [...sidebar.matchAll(/pages\(\{ (.*) \}\)/g)].flatMap(([, all]) =>
    [...all!.matchAll(/(\w+): '/g)].map(([, name]) => name!),
  );
  const there = [...pages().map(({ file }) => file), ...MADE]
    .filter((file) => file.startsWith('docs/') && !file.startsWith('docs/decisions/'))
    .map((file) => file.slice('docs/'.length, -'.md'.length));
  const named = new Set([...listed, ...inLine]);
  expect(named.size).toBeGreaterThan(30);
  expect([...there, ...OF_ROOT].filter((name) => !named.has(name))).toEqual([]);
});
