/** Whose a state folder is: by its owners and modes, and by the repositories that track it. */

import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openEmbedded } from './embedded.ts';
import { refuseForeignState } from './state-folder.ts';

let root: string;
let state: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'tidemark-owner-')));
  state = path.join(root, '.tidemark');
  mkdirSync(path.join(state, 'log'), { recursive: true, mode: 0o700 });
  writeFileSync(path.join(state, 'log', 'log.db'), 'what was said', { mode: 0o600 });
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(root, { recursive: true, force: true });
});

const judged = (folder = state): string => {
  try {
    refuseForeignState(folder, '.tidemark');
    return 'taken';
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
};

const git = (...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@y', ...args], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });

describe('the owner', () => {
  it('takes its own, what is missing, and a file in place of a folder, which opening names', () => {
    expect(judged()).toBe('taken');
    expect(judged(path.join(root, 'none'))).toBe('taken');
    expect(judged(path.join(state, 'log', 'log.db'))).toBe('taken');
  });

  it.runIf(process.geteuid?.() === 0).each([
    ['the folder', '.tidemark', 'state-foreign'],
    ['its log', '.tidemark/log', 'state-foreign'],
    ['a file of the log', '.tidemark/log/log.db', 'state-foreign'],
    ['something that Tidemark never made', '.tidemark/notes', 'taken'],
  ])('of another user, %s', (_, name, verdict) => {
    writeFileSync(path.join(state, 'notes'), '');
    lchownSync(path.join(root, name), 4_711, 4_711);
    expect(judged()).toBe(verdict);
  });

  it.runIf(process.geteuid?.() === 0)('counts of a link and of what it leads to', () => {
    const other = path.join(root, 'other');
    mkdirSync(path.join(other, 'log'), { recursive: true });
    const link = path.join(root, 'link');
    symlinkSync(other, link);
    expect(judged(link)).toBe('taken');
    lchownSync(other, 4_711, 4_711);
    expect(judged(link)).toBe('state-foreign');
    lchownSync(other, 0, 0);
    lchownSync(link, 4_711, 4_711);
    expect(judged(link)).toBe('state-foreign');
  });

  it('lets nobody else write what is opened, however deep, nor the folder itself', () => {
    chmodSync(state, 0o777);
    expect(judged()).toBe('state-exposed');
    chmodSync(state, 0o755);
    const rows = path.join(state, 'rows/data/base/1');
    mkdirSync(rows, { recursive: true, mode: 0o755 });
    writeFileSync(path.join(rows, '1255'), 'functions', { mode: 0o600 });
    expect(judged()).toBe('taken');
    chmodSync(path.join(rows, '1255'), 0o606);
    expect(judged()).toBe('state-exposed');
    // Nobody else gets there.
    chmodSync(path.join(state, 'rows'), 0o700);
    expect(judged()).toBe('taken');
    rmSync(path.join(state, 'rows'), { recursive: true });
    chmodSync(path.join(state, 'log'), 0o755);
    chmodSync(path.join(state, 'log', 'log.db'), 0o666);
    expect(judged()).toBe('state-exposed');
    chmodSync(path.join(state, 'log', 'log.db'), 0o600);
    chmodSync(path.join(state, 'log'), 0o770);
    expect(() => refuseForeignState(state, '.tidemark')).toThrow(
      /\.tidemark\/log has mode 770: .*--state.*chmod -R go-w \.tidemark/,
    );
  });

  it('means nothing where the file system gives what one makes to somebody else', () => {
    const own = process.geteuid!();
    vi.spyOn(process, 'geteuid').mockReturnValue(own + 1);
    // Root's is anybody's; to anybody else all of it, and what is made there, seems another user's.
    expect(judged()).toBe('taken');
  });
});

describe('a repository that tracks it', () => {
  const commit = (): void => {
    git('add', '-f', '.');
    git('commit', '-q', '-m', 'all');
  };
  const others = (): void => {
    for (let n = 0; n < 40; n++) writeFileSync(path.join(root, `${'long-'.repeat(n)}${n}.txt`), '');
  };

  it.each<[string, string[], string[]]>([
    ['as it is', [], []],
    ['with shortened names', [], ['update-index', '--index-version', '4']],
    ['in parts', [], ['update-index', '--split-index']],
    ['with flags that format 2 has not', [], ['update-index', '--skip-worktree', '.tidemark/log/log.db']],
    ['with long digests', ['--object-format=sha256'], []],
  ])('is found in an index %s, and one that does not is none', (_, begun, then) => {
    others();
    const isInit = begun[0]?.startsWith('--') === true;
    git('init', '-q', ...(isInit ? begun : []), '.');
    writeFileSync(path.join(root, '.gitignore'), '.tidemark\n');
    git('add', '.');
    if (then.includes('4') || then.includes('--split-index')) git(...then);
    expect(judged()).toBe('taken');
    git(...(isInit ? [] : begun), 'add', '-f', '.');
    if (then.length > 0) git(...then);
    expect(judged()).toBe('state-tracked');
    expect(judged(path.join(root, 'sub/../.tidemark'))).toBe('state-tracked');
  });

  it('counts by its link, by another case of letters, and from the folder below', () => {
    git('init', '-q', '.');
    mkdirSync(path.join(root, 'deep', 'er'), { recursive: true });
    symlinkSync(state, path.join(root, 'deep', 'er', 'linked'));
    expect(judged(path.join(root, 'deep/er/linked'))).toBe('taken');
    git('add', '-f', 'deep');
    expect(judged(path.join(root, 'deep/er/linked'))).toBe('state-tracked');
    expect(judged()).toBe('taken');
    mkdirSync(path.join(root, 'Deep'), { recursive: true });
    git(
      'update-index',
      '--add',
      '--cacheinfo',
      `100644,${git('hash-object', '-w', '.tidemark/log/log.db').trim()},.Tidemark/Log/x`,
    );
    expect(judged()).toBe('state-tracked');
  });

  it('counts as a repository of its own within another one, and in a further work tree', () => {
    git('init', '-q', '.');
    commit();
    git('worktree', 'add', '-q', 'tree');
    expect(judged(path.join(root, 'tree', '.tidemark'))).toBe('state-tracked');
    git('rm', '-q', '-r', '--cached', '.tidemark');
    expect(judged()).toBe('taken');
    git('init', '-q', '.tidemark');
    expect(judged()).toBe('taken');
    execFileSync('git', ['add', '-f', '.'], { cwd: state });
    expect(judged()).toBe('state-tracked');
  });

  it('does not count by what keeps an empty folder', () => {
    git('init', '-q', '.');
    writeFileSync(path.join(state, '.gitkeep'), '');
    git('add', '-f', '.tidemark/.gitkeep');
    expect(judged()).toBe('taken');
  });

  it('counts where its index is not understood, and runs none of its programs', () => {
    git('init', '-q', '.');
    const ran = path.join(root, 'ran');
    git('config', 'core.fsmonitor', `touch ${ran}`);
    git('config', 'core.hooksPath', root);
    git('-c', 'core.fsmonitor=false', 'add', '.');
    const index = path.join(root, '.git/index');
    const whole = readFileSync(index);
    for (const broken of [Buffer.alloc(0), whole.subarray(0, 40), Buffer.concat([whole, Buffer.from('more')])]) {
      writeFileSync(index, broken);
      expect(judged()).toBe('state-tracked');
    }
    expect(() => readFileSync(ran)).toThrow('ENOENT');
  });

  it('counts where it has objects and no index, as after `clone -n`, until it has one', () => {
    git('init', '-q', '.');
    expect(judged()).toBe('taken');
    git('commit', '-q', '--allow-empty', '-m', 'nothing');
    git('clone', '-q', '-n', '.', 'copy');
    mkdirSync(path.join(root, 'copy/.tidemark'), { mode: 0o700 });
    const copied = (): string => judged(path.join(root, 'copy/.tidemark'));
    expect(copied()).toBe('state-tracked');
    git('-C', 'copy', 'reset', '-q');
    expect(copied()).toBe('taken');
    rmSync(path.join(root, 'copy/.git'), { recursive: true });
    // Its work trees lie beside it.
    git('clone', '-q', '--bare', '.', 'copy/.git');
    expect(copied()).toBe('taken');
  });

  it('opens by the remedy where its index is split', () => {
    git('init', '-q', '.');
    git('add', '-f', '.');
    git('update-index', '--split-index');
    git('rm', '-q', '-r', '--cached', '.tidemark');
    expect(judged()).toBe('state-tracked');
    git('update-index', '--no-split-index');
    expect(judged()).toBe('taken');
  });

  it.each(['rowſ', 'ｒows', 'BLOB\u017f', 'ro\u200bws'])(
    'counts by what is its name to some file system: %s',
    (name) => {
      git('init', '-q', '.');
      const written = git('hash-object', '-w', '.tidemark/log/log.db').trim();
      git('update-index', '--add', '--cacheinfo', `100644,${written},.tidemark/${name}/x`);
      expect(judged()).toBe('state-tracked');
    },
  );

  it('is named with the remedy by whoever opens the folder', async () => {
    git('init', '-q', '.');
    git('add', '-f', '.');
    await expect(openEmbedded({ folder: state })).rejects.toMatchObject({
      code: 'state-tracked',
      message: expect.stringMatching(/came with the git repository .*--state.*git rm -r --cached/),
    });
  });
});
