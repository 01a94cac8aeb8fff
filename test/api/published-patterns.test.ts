/** Each published pattern compiles in Go, whose engine is that of RE2. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { patternsOf, published } from './published.ts';

/** Reads places and patterns, and prints those that it refuses. */
const GO = `package main
import ("encoding/json"; "fmt"; "os"; "regexp")
func main() {
  var all [][]string
  if err := json.NewDecoder(os.Stdin).Decode(&all); err != nil { panic(err) }
  for _, one := range all { if _, err := regexp.Compile(one[1]); err != nil { fmt.Println(one[0], err) } }
}
`;

it('compiles in Go, and what does not is found (control)', async (context) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'tidemark-patterns-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'check.go');
  writeFileSync(file, GO);
  const input = JSON.stringify([...patternsOf(await published()), ['control', '(?!x)']]);
  const env = { ...process.env, GOFLAGS: '', GO111MODULE: 'off' };
  let said = '';
  try {
    said = execFileSync('go', ['run', file], { encoding: 'utf8', input, env });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || process.env.CI === 'true') throw error;
    return context.skip('go is not installed');
  }
  expect(said).toBe('control error parsing regexp: invalid or unsupported Perl syntax: `(?!`\n');
});
