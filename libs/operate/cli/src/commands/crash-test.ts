/** Owns `tidemark crash-test`: what it is given, where its reports go, and its exit code. */

import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError, messageOf } from '@tidemark/core';
import { EXIT } from '@tidemark/host/exit-codes';
import { maskSecrets } from '@tidemark/secrets';
import { answerRules, scriptedAnswers } from '../crash-test/answers.ts';
import { crashTest } from '../crash-test/crash-test.ts';
import { isBad } from '../crash-test/judge.ts';
import { jsonOf, junitOf, markdownOf, tableLines } from '../crash-test/report.ts';
import { readJson } from '../input.ts';
import type { CrashTestOptions } from '../program/crash-test-options.ts';
import { type Session, takeInterrupts } from '../session.ts';

/** 0: nothing was doubled or lost; else 1. */
export async function crashTestCommand(
  session: Session,
  command: readonly string[],
  options: CrashTestOptions['crashTest'],
): Promise<number> {
  const { terminal, env, cwd } = session;
  const { answers, model, markdown, junit } = options;
  const rules = answers === undefined ? [] : answerRules(await readJson('--answers', answers, session));
  const script = model === undefined ? undefined : scriptedAnswers(await readJson('--model', model, session));
  const interruption = takeInterrupts(session);
  try {
    const result = await crashTest({
      ...{ command, env, cwd, answers: rules, model: script, signal: interruption.signal },
      resume: options.resume,
      isInFolder: options.inFolder === true,
      limitMs: options.limit,
      maxCount: options.max,
      onProgress: (done, all) => terminal.status(`kill ${done + 1} of ${all}`),
    });
    terminal.status('');
    if (markdown !== undefined)
      await write(cwd, markdown, `\`${maskSecrets(command.join(' '))}\`: ${markdownOf(result)}`);
    if (junit !== undefined) await write(cwd, junit, junitOf(result));
    terminal.answer(jsonOf(result));
    terminal.lines(tableLines(result, terminal.width));
    return result.judged.some(isBad) ? EXIT.failed : EXIT.ok;
  } catch (error) {
    if (interruption.signal.aborted) return EXIT.interrupted;
    throw error;
  } finally {
    terminal.status('');
    interruption.release();
  }
}

async function write(cwd: string, file: string, text: string): Promise<void> {
  try {
    await writeFile(path.resolve(cwd, file), text);
  } catch (cause) {
    throw new ConfigError('report-unwritable', `${file} can't be written: ${messageOf(cause)}.`, { cause });
  }
}
