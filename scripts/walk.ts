/**
 * `node scripts/walk.ts`: counts the files and hops of the walks in CONTRIBUTING.md, from `ctx.effect` to the row and back. `--write` puts
 * the lines of declarations that moved into their links.
 *
 * A hop is a link to the line that declares a function, and some hop before it calls that by its name. Nothing needs to call the first hop,
 * nor the first one after words in italics, which say what begins there (`*A hint arrives:*`). A function that lies inside one of an
 * earlier hop, and is called through what it was passed as, is a turn back: the reader has to remember who passed it.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PAGE = `${ROOT}CONTRIBUTING.md`;
const HEADING = /^## From `ctx\.effect` to the row and back\n(.*?)^## /ms;
const LINK = /\[`([#\w]+)`\]\(([\w./-]+)#L(\d+)\)/g;
const BEGIN = /\*[A-Z][^*\n]+:\*/;
const MODIFIERS = /^(?:(?:export|override|protected|static|async|function|const|get)\s+)*/;

export interface Walk {
  readonly name: string;
  readonly files: number;
  readonly hops: number;
  readonly turnsBack: number;
  /** Links that lead to no declaration, and hops that nothing before them calls. */
  readonly problems: readonly string[];
}

interface Hop {
  readonly name: string;
  readonly file: string;
  readonly line: number;
  readonly begins: boolean;
}

const linesOf = (file: string): readonly string[] => readFileSync(`${ROOT}${file}`, 'utf8').split('\n');

/** Whether the line begins the function's declaration: a call ends with a semicolon. */
function declares(line: string, name: string): boolean {
  const rest = line.trim().replace(MODIFIERS, '');
  return (
    rest.startsWith(name) &&
    /^(?:<.*)?(?:\(.*[^;]$|\($|(?:: \w+)? ?=|: (?:async )?\(|: \w+\(.*\{$)/.test(rest.slice(name.length))
  );
}

/** The declaration's text. The formatter gives its last line the indentation of its first one. */
function bodyOf({ file, line }: Hop): { readonly text: string; readonly last: number } {
  const lines = linesOf(file);
  const indentation = /^ */.exec(lines[line - 1]!)![0];
  const closing = new RegExp(`^${indentation}(?:[\\])}]+[;,)]*|\\S.*[;,])$`);
  let last = line;
  if (!/[;,]$/.test(lines[line - 1]!)) while (last < lines.length && !closing.test(lines[last]!)) last++;
  const own = lines.slice(line - 1, last + 1).filter((text) => !/^\s*(?:\/\/|\*|\/\*\*)/.test(text));
  return { text: own.join('\n'), last: last + 1 };
}

const calls = (caller: Hop, { name }: Hop): boolean =>
  new RegExp(`(?:^|[^\\w#])${name}(?:<[^>]*>)?[(,)]`).test(
    bodyOf(caller).text.replace(/^.*\n?/, (first) => first.slice(first.indexOf(caller.name) + caller.name.length)),
  );

const isWithin = (outer: Hop, { file, line }: Hop): boolean =>
  outer.file === file && outer.line < line && line <= bodyOf(outer).last;

export function walksIn(page = readFileSync(PAGE, 'utf8')): readonly Walk[] {
  const section = HEADING.exec(page)?.[1] ?? '';
  const walks = section.split(/^### /m).slice(1);
  return walks.map((text) => {
    const name = text.split('\n', 1)[0]!;
    const hops = text.split(BEGIN).flatMap((part) =>
      Array.from(part.matchAll(LINK), ([, of, file, line], at) => ({
        name: of!,
        file: file!,
        line: Number(line),
        begins: at === 0,
      })),
    );
    const problems: string[] = [];
    let turnsBack = 0;
    for (const [at, hop] of hops.entries()) {
      const where = `${hop.name} at ${hop.file}:${hop.line}`;
      if (!declares(linesOf(hop.file)[hop.line - 1] ?? '', hop.name)) problems.push(`${where} is no declaration`);
      const before = hops.slice(0, at);
      if (hop.begins || before.some((one) => calls(one, hop))) continue;
      if (before.some((one) => isWithin(one, hop))) turnsBack++;
      else problems.push(`no hop before ${where} calls it`);
    }
    return { name, files: new Set(hops.map(({ file }) => file)).size, hops: hops.length, turnsBack, problems };
  });
}

/** The page with the line of the declaration nearest to each link. */
const withLines = (page: string): string =>
  page.replace(LINK, (link, name: string, file: string, line: string) => {
    const found = linesOf(file).flatMap((text, at) => (declares(text, name) ? [at + 1] : []));
    const nearest = found.toSorted((a, b) => Math.abs(a - Number(line)) - Math.abs(b - Number(line)))[0];
    return nearest === undefined ? link : `[\`${name}\`](${file}#L${nearest})`;
  });

if (import.meta.main) {
  const { values } = parseArgs({ options: { write: { type: 'boolean', default: false } } });
  if (values.write) writeFileSync(PAGE, withLines(readFileSync(PAGE, 'utf8')));
  for (const { name, files, hops, turnsBack, problems } of walksIn()) {
    console.log(`${name}: ${files} files, ${hops} hops, ${turnsBack} turns back`);
    for (const problem of problems) console.log(`  ${problem}`);
    if (problems.length > 0) process.exitCode = 1;
  }
}
