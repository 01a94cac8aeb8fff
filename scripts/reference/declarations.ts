/** Owns reading declarations of TypeScript: the exports of an entry point, where each is declared, its comment, and its shape without bodies. */

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Comment, type ExportSpecifier, parseSync, type Statement } from 'oxc-parser';
import { packageFolders } from '../workspaces.ts';

export interface Exported {
  readonly name: string;
  readonly kind: 'function' | 'class' | 'interface' | 'type' | 'constant';
  /** The text of its comment; empty: it has none. */
  readonly comment: string;
  /** The declaration, without the bodies of functions. */
  readonly shape: string;
  /** From the root. */
  readonly file: string;
}

interface Source {
  readonly file: string;
  readonly text: string;
  readonly body: readonly Statement[];
  readonly comments: readonly Comment[];
}

const sources = new Map<string, Promise<Source>>();

export function sourceOf(root: URL, file: string): Promise<Source> {
  const url = new URL(file, root);
  const known = sources.get(url.href);
  if (known !== undefined) return known;
  const reading = readFile(url, 'utf8').then((text) => {
    const { program, comments, errors } = parseSync(file, text);
    if (errors.length > 0) throw new Error(`${file}: ${errors[0]!.message}`);
    return { file, text, body: program.body, comments };
  });
  sources.set(url.href, reading);
  return reading;
}

/** Words of the block comment (`/** … *​/`) that ends right before; empty: there is none. */
export function commentBefore({ text, comments }: Source, start: number): string {
  const found = comments.findLast(({ end }) => end <= start && text.slice(end, start).trim() === '');
  if (found === undefined || found.type !== 'Block' || !found.value.startsWith('*')) return '';
  return found.value
    .split('\n')
    .map((line) => line.replace(/^\s*\*+ ?/, '').trimEnd())
    .join('\n')
    .trim();
}

/** The names that an entry point exports, each from where it is declared, in the entry point's order. */
export async function exportsOf(root: URL, door: string): Promise<readonly Exported[]> {
  const source = await sourceOf(root, door);
  const found: Exported[] = [];
  for (const statement of source.body) {
    if (statement.type !== 'ExportNamedDeclaration' || statement.source === null) continue;
    const from = fileOf(root, door, statement.source.value);
    for (const specifier of statement.specifiers) found.push(await declared(root, from, nameOf(specifier)));
  }
  return found;
}

const nameOf = ({ local }: ExportSpecifier): string => ('name' in local ? local.name : local.value);

/** The file behind an import: beside this one, or the entry point of a package. */
function fileOf(root: URL, from: string, specifier: string): string {
  if (specifier.startsWith('.')) return new URL(specifier, new URL(from, 'file:///')).pathname.slice(1);
  const name = specifier.replace('@tidemark/', '');
  const folder = packageFolders(fileURLToPath(root), ['libs']).find((each) => path.basename(each) === name);
  const file = `${folder}/src/index.ts`;
  if (folder === undefined || !existsSync(new URL(file, root)))
    throw new Error(`${from}: no source is known of '${specifier}'`);
  return file;
}

async function declared(root: URL, file: string, name: string): Promise<Exported> {
  const source = await sourceOf(root, file);
  for (const statement of source.body) {
    if (statement.type !== 'ExportNamedDeclaration') continue;
    if (statement.source !== null) {
      const specifier = statement.specifiers.find(
        ({ exported }) => ('name' in exported ? exported.name : exported.value) === name,
      );
      if (specifier !== undefined) return declared(root, fileOf(root, file, statement.source.value), nameOf(specifier));
      continue;
    }
    const { declaration } = statement;
    if (declaration === null) continue;
    const comment = commentBefore(source, statement.start);
    const shape = shapeOf(source, statement);
    const given = { name, comment, shape, file };
    if (declaration.type === 'VariableDeclaration') {
      if (declaration.declarations.some(({ id }) => id.type === 'Identifier' && id.name === name)) {
        return { ...given, kind: /=>/.test(shape) ? 'function' : 'constant' };
      }
    } else if ('id' in declaration && declaration.id?.type === 'Identifier' && declaration.id.name === name) {
      const kinds = {
        ClassDeclaration: 'class',
        TSInterfaceDeclaration: 'interface',
        TSTypeAliasDeclaration: 'type',
      } as const;
      const overloads = source.body.filter(
        (other) =>
          other.type === 'ExportNamedDeclaration' &&
          (other.declaration?.type === 'TSDeclareFunction' || other.declaration?.type === 'FunctionDeclaration') &&
          other.declaration.id?.name === name,
      );
      const shapes = overloads.length > 1 ? overloads.slice(0, -1).map((other) => shapeOf(source, other)) : [shape];
      const kind = kinds[declaration.type as keyof typeof kinds] ?? 'function';
      return { ...given, shape: shapes.join('\n'), kind };
    }
  }
  throw new Error(`${file}: '${name}' is not declared there`);
}

/** The text of a statement without the bodies of its functions, and without private members. */
function shapeOf({ text }: Source, statement: Statement): string {
  const cuts: { readonly start: number; readonly end: number; readonly by: string }[] = [];
  const look = (node: unknown): void => {
    if (Array.isArray(node)) {
      for (const each of node) look(each);
      return;
    }
    if (node === null || typeof node !== 'object' || !('type' in node)) return;
    const one = node as {
      readonly type: string;
      readonly start: number;
      readonly end: number;
      readonly [k: string]: unknown;
    };
    const body = one.body as
      | { readonly type?: string; readonly start: number; readonly end: number }
      | null
      | undefined;
    const key = one.key as { readonly type?: string } | undefined;
    if (key?.type === 'PrivateIdentifier')
      cuts.push({ start: text.lastIndexOf('\n', one.start), end: one.end, by: '' });
    else if (one.type === 'ArrowFunctionExpression' && body) cuts.push({ start: body.start, end: body.end, by: '…' });
    else if (/Function/.test(one.type) && body?.type === 'BlockStatement') {
      cuts.push({ start: text.slice(0, body.start).trimEnd().length, end: body.end, by: ';' });
    } else for (const value of Object.values(one)) look(value);
  };
  look(statement);
  let shape = text.slice(statement.start, statement.end);
  for (const { start, end, by } of cuts.sort((a, b) => b.start - a.start)) {
    shape = shape.slice(0, start - statement.start) + by + shape.slice(end - statement.start);
  }
  return shape
    .replace(/^export (?:declare )?/, '')
    .replace(/^ *\/\/ biome-ignore.*\n/gm, '')
    .trimEnd();
}
