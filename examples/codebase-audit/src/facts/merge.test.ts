import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Discovery, discoverPage, joinPages } from '../discover.ts';
import { jsonReport, markdownReport } from '../report.ts';
import type { FileFacts } from './facts.ts';
import { type Audit, merge } from './merge.ts';
import { readFacts } from './parse-file.ts';

const ROOT = fileURLToPath(new URL('../../fixtures/app', import.meta.url));

let discovery: Discovery;
let facts: FileFacts[];
let audit: Audit;

beforeAll(async () => {
  const page = await discoverPage(ROOT, null);
  discovery = joinPages('app', [page.facts]);
  facts = await Promise.all(page.files.map((path) => readFacts(ROOT, path)));
  audit = merge(discovery, facts);
});

const importsOf = (path: string) => audit.files.find((file) => file.path === path)?.imports;

describe('the fixture application', () => {
  it('links workspace names, mapped paths, compiled extensions and computed specifiers', () => {
    expect(importsOf('src/main.ts')).toEqual([
      'packages/lib/src/entry.ts',
      'packages/lib/src/parts/extra.ts',
      'src/barrel.ts',
      'src/cycle-a.ts',
      'src/everything.ts',
      'src/lazy.ts',
      'src/legacy.cjs',
      'src/ping.ts',
      'src/plugins/first.ts',
      'src/shapes.ts',
    ]);
    expect(audit.external).toEqual([{ name: 'express', files: 1 }]);
    expect(audit.builtins.map(({ name }) => name)).toEqual(['child_process', 'fs/promises']);
    expect(audit.incomplete.unresolvedImports).toBe(0);
  });

  it('finds import cycles, and none among types', () => {
    expect(audit.cycles).toEqual([
      {
        files: ['src/cycle-a.ts', 'src/cycle-b.ts', 'src/cycle-c.ts'],
        cycle: ['src/cycle-a.ts', 'src/cycle-b.ts', 'src/cycle-c.ts'],
      },
      { files: ['src/ping.ts', 'src/pong.ts'], cycle: ['src/ping.ts', 'src/pong.ts'] },
    ]);
  });

  it('finds dead exports behind a chain of re-exports, and spares what outsiders reach', () => {
    expect(audit.deadExports.map(({ file, name }) => `${file} ${name}`)).toEqual([
      'packages/lib/src/kept.ts forgotten',
      'src/barrel.ts alsoUnused',
      'src/lazy.ts lazyButUnused',
      'src/leaf.ts alsoUnused',
      'src/leaf.ts neverMentioned',
    ]);
  });

  it('finds recursion across files', () => {
    const found = audit.findings.filter((finding) => finding.rule === 'unbounded-recursion');
    expect(found).toMatchObject([
      { file: 'src/ping.ts', line: 2, evidence: 'ping (src/ping.ts) → pong (src/pong.ts)' },
    ]);
  });

  it('carries the findings of single files, the most severe first', () => {
    expect(audit.findings[0]).toMatchObject({
      rule: 'shell-command',
      severity: 'high',
      file: 'src/legacy.cjs',
      line: 2,
    });
    expect(audit.incomplete.unparsed).toEqual(['src/broken.ts']);
    expect(audit.totals.findingsByRule['parse-error']).toBe(1);
  });

  it('sums up by module', () => {
    const lib = audit.modules.find((module) => module.path === 'packages/lib/src');
    expect(lib).toMatchObject({ files: 2, exports: 4, usedBy: ['src'], uses: [] });
  });
});

describe('determinism', () => {
  it('gives the same bytes for any order of the facts, and when some come twice', () => {
    const expected = [jsonReport(audit), markdownReport(audit)];
    for (const order of [[...facts].reverse(), [...facts.slice(7), ...facts.slice(0, 9)]]) {
      const again = merge(discovery, JSON.parse(JSON.stringify(order)) as FileFacts[]);
      expect([jsonReport(again), markdownReport(again)]).toEqual(expected);
    }
  });

  it('names no absolute path', () => {
    expect(jsonReport(audit)).not.toContain(ROOT.slice(0, ROOT.indexOf('examples')));
    expect(markdownReport(audit)).not.toContain(ROOT.slice(0, ROOT.indexOf('examples')));
  });

  it('takes the same one of two facts for one path, whichever came first', () => {
    const [first] = facts as [FileFacts];
    const changed = { ...first, sha256: '0'.repeat(64), lines: 999 };
    const merged = [merge(discovery, [changed, ...facts]), merge(discovery, [...facts, changed])];
    expect(jsonReport(merged[0]!)).toBe(jsonReport(merged[1]!));
    expect(merged[0]!.files.find(({ path }) => path === first.path)?.lines).toBe(999);
  });

  it('is empty for an empty tree', () => {
    const empty = merge({ ...discovery, packages: [] }, []);
    expect(empty.totals.files).toBe(0);
    expect(markdownReport(empty)).toContain('## Dead exports\n\nNone.');
  });
});

describe('what is not known', () => {
  const withImports = (cut: FileFacts['cut']): FileFacts[] =>
    facts.map((item) => (item.path === 'src/main.ts' ? { ...item, ...(cut === undefined ? {} : { cut }) } : item));

  it('judges no export of a package in which imports were cut', () => {
    const dead = merge(discovery, withImports({ imports: 3 })).deadExports.map(({ file }) => file);
    expect(dead).toEqual(['packages/lib/src/kept.ts']);
  });
});
