/** Every link of every page leads somewhere: to a file or folder of the project, and to a heading that is there. Other sites are not asked. */

import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { referencePages } from '../../scripts/reference.ts';
import { MADE, type Page, pageOf, pages, ROOT, slugOf } from './markdown.ts';

const made = [...(await referencePages())].map(([file, text]) => pageOf(file, text));
const committed = pages();
const all = [...committed, ...made];
/** Becomes the beginning of docs/api.md, and is linked from there. */
const PIECE = 'libs/operate/api/docs/introduction.md';
const byFile = new Map(all.map((page) => [page.file, page]));

/** What is wrong with each link that leads nowhere. */
function deadIn(page: Page): readonly string[] {
  return page.links.flatMap(({ target, line }) => {
    if (/^[a-z][a-z0-9+.-]*:/i.test(target)) return [];
    const [place = '', anchor] = target.split('#');
    const file = place === '' ? page.file : path.posix.join(path.posix.dirname(page.file), decodeURI(place));
    const where = `${page.file}:${line}: ${target}`;
    // Where the project is read, there are no pages that are made.
    if (MADE.includes(file) && !MADE.includes(page.file))
      return [`${where}: link to docs/overview.md#reference instead`];
    if (!byFile.has(file) && !existsSync(path.join(ROOT, file))) return [`${where}: there is no ${file}`];
    if (anchor === undefined || !file.endsWith('.md')) return [];
    return byFile.get(file)?.anchors.has(anchor) === true ? [] : [`${where}: ${file} has no such heading`];
  });
}

describe('links of docs', () => {
  it('are found, with headings as GitHub names them', () => {
    expect(committed.length).toBeGreaterThan(30);
    expect(slugOf('`when`: _what_ [a](b.md) waits for, 1–2')).toBe('when-what-a-waits-for-12');
    const page = pageOf('docs/x.md', '# A b\n# A b\n```\n# no [n](n)\n```\n`[c](d)` [e](f.md#g)\n');
    expect([...page.anchors]).toEqual(['a-b', 'a-b-1']);
    expect(page.links).toEqual([{ target: 'f.md#g', line: 6 }]);
    expect(deadIn(page)).toEqual(['docs/x.md:6: f.md#g: there is no docs/f.md']);
    expect(deadIn(pageOf('docs/x.md', '[a](cli.md#nowhere)'))).toHaveLength(1);
  });

  it('all lead somewhere', () => {
    expect(all.filter(({ file }) => file !== PIECE).flatMap(deadIn)).toEqual([]);
  });
});
