/** Owns the trees of source code that audits are tested on: made from a seed, with something to find in them, the same every time. */

import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

export type Random = () => number;

/** Numbers in [0, 1), the same for a seed (mulberry32). */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export interface TreeShape {
  readonly files: number;
  /** Functions in each file: what makes it take time. */
  readonly functions: number;
  readonly seed: number;
}

/** Writes a tree: folders of modules that import each other, some in circles, some with findings, some that do not parse. */
export async function writeTree(folder: string, { files, functions, seed }: TreeShape): Promise<void> {
  const random = randomFrom(seed);
  const pick = (below: number): number => Math.floor(random() * below);
  const nameOf = (index: number): string => `part-${index % 17}/module-${index}.ts`;
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'package.json'), '{ "name": "tree", "main": "part-0/module-0.ts" }\n');
  for (let index = 0; index < files; index++) {
    const imports = Array.from({ length: 3 }, (_, n) => {
      const other = pick(files);
      return `import { run${other}_0 as other${n} } from '../${nameOf(other)}';`;
    });
    const bodies = Array.from({ length: functions }, (_, n) => functionText(index, n, pick(1_000)));
    const last = random() < 0.02 ? 'export const broken = (;' : `export const total = [other0, other1, other2].length;`;
    const file = path.join(folder, nameOf(index));
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, [...imports, ...bodies, last, ''].join('\n'));
  }
}

function functionText(file: number, n: number, salt: number): string {
  const risky = salt < 5 ? '  eval(input.join(";"));\n' : '';
  return `export function run${file}_${n}(input: readonly string[], limit = ${salt}): Map<string, number> {
${risky}  const found = new Map<string, number>();
  for (const [at, item] of input.entries()) {
    if (at > limit || item === '${salt}') continue;
    found.set(item.trim(), (found.get(item) ?? 0) + at * ${salt});
  }
  return found.size > limit ? found : new Map([...found].filter(([, count]) => count !== ${n}));
}
`;
}
