import { describe, expect, it } from 'vitest';
import { merge } from './facts/merge.ts';
import { parseFile } from './facts/parse-file.ts';
import { MAX_REPORT_ROWS } from './limits.ts';
import { jsonReport, markdownReport } from './report.ts';

const discovery = {
  label: 'tree',
  packages: [],
  skipped: [],
  skippedCut: 0,
  filesCut: 0,
  symlinks: 0,
};
const auditOf = (sources: Record<string, string>) =>
  merge(
    discovery,
    Object.entries(sources).map(([path, text]) => parseFile(path, new TextEncoder().encode(text))),
  );

describe('markdownReport', () => {
  it('cannot be broken out of by names or source text', () => {
    const report = markdownReport(auditOf({ 'a|`b`<i>.ts': 'eval("|`</td>" + x + `\n# heading\n`);' }));
    const row = report.split('\n').find((line) => line.startsWith('| high'))!;
    expect(row).toBe(
      '| high | ``  a\\|`b`<i>.ts:1:1  `` | eval runs text as code: text put together at run time | ``  eval("\\|`</td>" + x + ` # heading `)  `` |'
        .replaceAll('``  ', '`` ')
        .replaceAll('  ``', ' ``'),
    );
    expect(report).not.toMatch(/^# heading/m);
  });

  it('limits its tables and says so', () => {
    const sources = Object.fromEntries(Array.from({ length: MAX_REPORT_ROWS + 3 }, (_, i) => [`f${i}.ts`, 'eval(x)']));
    const report = markdownReport(auditOf(sources));
    expect(report.match(/^\| high/gm)).toHaveLength(MAX_REPORT_ROWS);
    expect(report).toContain('… and 3 more in the JSON report.');
  });

  it('quotes what a model wrote, in order of the modules', () => {
    const summaries = [
      { module: 'b', text: 'Second.', model: 'm' },
      { module: 'a', text: '# First\n<script>', model: 'm' },
    ];
    const report = markdownReport(auditOf({ 'a.ts': '' }), summaries);
    expect(report).toContain('### a\n\n> \\# First\n> &lt;script>\n\n(m)\n\n### b\n\n> Second.');
    expect(markdownReport(auditOf({ 'a.ts': '' }))).not.toContain('What the modules do');
  });

  it('says what it does not know', () => {
    const audit = merge(
      {
        ...discovery,
        skipped: [{ path: 'big.js', reason: 'too-large', bytes: 5 }],
        skippedCut: 2,
        filesCut: 1,
        symlinks: 4,
      },
      [
        parseFile('broken.ts', new TextEncoder().encode('(')),
        parseFile('a.ts', new TextEncoder().encode('import "./x"; import(y);')),
      ],
    );
    const report = markdownReport(audit);
    for (const part of [
      '`big.js` was skipped: too-large (5 bytes)',
      '2 more entries',
      '1 source files',
      '`broken.ts`',
      '1 imports name',
      '1 imports have',
      '4 symbolic',
    ]) {
      expect(report).toContain(part);
    }
  });
});

describe('jsonReport', () => {
  it('is JSON of a stated version that ends in a line end', () => {
    const text = jsonReport(auditOf({ 'a.ts': 'export const a = 1;' }), [{ module: '.', text: 't', model: 'm' }]);
    expect(text.endsWith('}\n')).toBe(true);
    expect(JSON.parse(text)).toMatchObject({ reportVersion: 1, totals: { files: 1 }, summaries: [{ module: '.' }] });
  });
});
