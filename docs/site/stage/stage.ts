/**
 * Owns what the site is made of: the pages of docs/ and of the root with their links turned to where those lead on the site, and a page for
 * each file or folder of the project that one of them links to. Must not change what it reads.
 */

import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const OUT = path.resolve(import.meta.dirname, '../pages');
/** Pages of the root, by the name that they have on the site. */
const OF_ROOT: Readonly<Record<string, string>> = {
  'README.md': 'index.md',
  'CONTRIBUTING.md': 'contributing.md',
  'SECURITY.md': 'security.md',
};
/** Languages of files that are shown, by the end of their names. */
const LANGUAGES: Readonly<Record<string, string>> = {
  ...{
    ts: 'ts',
    tsx: 'tsx',
    mjs: 'js',
    json: 'json',
    yaml: 'yaml',
    yml: 'yaml',
    sh: 'sh',
    md: 'md',
    sql: 'sql',
    tpl: 'yaml',
  },
};
const LARGEST_SHOWN_BYTES = 256 * 1_024;

/** Rebuilds the folder `pages`. Throws where a link leads nowhere. */
export function stage(): string {
  rmSync(OUT, { recursive: true, force: true });
  const shown = new Set<string>();
  const docs = readdirSync(path.join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .map((name) => path.posix.join('docs', name.split(path.sep).join('/')))
    .filter((file) => !file.startsWith('docs/site') && statSync(path.join(ROOT, file)).isFile());
  for (const file of docs) {
    const to = path.join(OUT, file.slice('docs/'.length));
    mkdirSync(path.dirname(to), { recursive: true });
    if (file.endsWith('.md')) writeFileSync(to, turned(file, shown));
    else cpSync(path.join(ROOT, file), to);
  }
  for (const [file, name] of Object.entries(OF_ROOT)) {
    const text = turned(file, shown);
    writeFileSync(path.join(OUT, name), name === 'index.md' ? home(text) : text);
  }
  mkdirSync(path.join(OUT, 'public'), { recursive: true });
  cpSync(path.join(ROOT, 'libs/operate/console/public/mark.svg'), path.join(OUT, 'public/mark.svg'));
  for (const name of ['timeline-light.png', 'timeline-dark.png']) {
    cpSync(path.join(ROOT, 'docs/console', name), path.join(OUT, 'public/console', name));
  }
  const written = new Set<string>();
  for (const file of shown) writeShown(file, shown, written);
  return OUT;
}

/** The page with its links as the site has them; what is not on the site itself joins `shown`. */
function turned(file: string, shown: Set<string>): string {
  let isCode = false;
  return readFileSync(path.join(ROOT, file), 'utf8')
    .split('\n')
    .map((line) => {
      if (/^\s*(?:```|~~~)/.test(line)) isCode = !isCode;
      if (isCode) return line;
      return line.replace(
        /(`[^`]*`)|\]\((?![a-z][a-z0-9+.-]*:|#)([^)\s#]+)(#[^)\s]*)?\)/gi,
        (all, code, target, anchor) => (code === undefined ? `](${placeOf(file, target, shown)}${anchor ?? ''})` : all),
      );
    })
    .join('\n');
}

function placeOf(from: string, target: string, shown: Set<string>): string {
  const file = path.posix.join(path.posix.dirname(from), decodeURI(target)).replace(/\/$/, '');
  const ofRoot = OF_ROOT[file];
  if (ofRoot !== undefined) return `/${ofRoot}`;
  const isFolder = statSync(path.join(ROOT, file)).isDirectory();
  if (file.startsWith('docs/') && !isFolder) return `/${file.slice('docs/'.length)}`;
  shown.add(file);
  return `/${sourcePage(file)}`;
}

/** Of Markdown too, whose own ending the site would take away. */
const sourcePage = (file: string): string => `source/${file.replace(/\.md$/, '-md')}.md`;

/** A page for a file with its text, or for a folder with what is in it. */
function writeShown(file: string, shown: Set<string>, written: Set<string>): void {
  if (written.has(file)) return;
  written.add(file);
  const at = path.join(ROOT, file);
  const to = path.join(OUT, sourcePage(file));
  mkdirSync(path.dirname(to), { recursive: true });
  const head = `---\ntitle: ${file}\nsearch: false\naside: false\nsourcePage: true\n---\n\n# ${path.posix.basename(file)}\n\n\`${file}\`\n\n`;
  if (!statSync(at).isDirectory()) {
    const text = readFileSync(at, 'utf8');
    if (Buffer.byteLength(text) > LARGEST_SHOWN_BYTES)
      throw new Error(`${file} is too large to be shown; don't link to it`);
    const language = LANGUAGES[path.extname(file).slice(1)] ?? 'text';
    writeFileSync(to, `${head}\`\`\`\`\`${language}\n${text.trimEnd()}\n\`\`\`\`\`\n`);
    return;
  }
  const isDocs = file.startsWith('docs/');
  const inside = readdirSync(at, { withFileTypes: true }).filter(
    (one) => one.isFile() && /\.(?:ts|md|json|yaml)$/.test(one.name),
  );
  // Of sources, what is in a folder is named; of examples and pages, it can be read.
  const isRead = isDocs || file.startsWith('examples/');
  const lines = inside.map(({ name }) => {
    const inner = path.posix.join(file, name);
    if (!isRead && !shown.has(inner)) return `- ${name}`;
    return `- [${name}](/${isDocs ? inner.slice('docs/'.length) : sourcePage(inner)})`;
  });
  writeFileSync(to, `${head}${lines.join('\n')}\n`);
  if (isRead && !isDocs) for (const { name } of inside) writeShown(path.posix.join(file, name), shown, written);
}

/** The README as the first page: below a greeting, without its own title. */
function home(text: string): string {
  const front = readFileSync(path.resolve(import.meta.dirname, '../home.yaml'), 'utf8').trimEnd();
  return `---\n${front}\n---\n\n${text.replace(/^# .*\n+/, '')}`;
}

stage();
