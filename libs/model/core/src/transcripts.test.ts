/**
 * Owns the golden transcripts in testdata: short histories whose verdicts and states a person has read. After a change of rules,
 * `UPDATE_TRANSCRIPTS=1 npx vitest run libs/model/core` rewrites them; review the difference like code.
 */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { answerLines, entryOfLine } from '@tidemark/testkit/naive/transcript';
import { expect, test } from 'vitest';
import { foldEntry } from './fold.ts';
import { offset, partition } from './ids.ts';
import { emptyPartition } from './state.ts';

const folder = new URL('./testdata/', import.meta.url);
const update = process.env.UPDATE_TRANSCRIPTS === '1';

/** The transcript with the answers that the fold gives now. */
function answered(transcript: string): string {
  let state = emptyPartition(partition(0), offset(0));
  let eventCount = 0;
  const lines = transcript.split('\n').flatMap((line) => {
    if (line.startsWith(' ')) return [];
    if (line === '' || line.startsWith('#')) return [line];
    const entry = entryOfLine(line, ++eventCount);
    const step = foldEntry(state, entry);
    state = step.state;
    const stream = entry.kind === 'event' ? state.streams.get(entry.envelope.workflow) : undefined;
    return [line, ...answerLines(step.verdict, stream)];
  });
  return lines.join('\n');
}

test.each(readdirSync(folder).filter((name) => name.endsWith('.txt')))('%s', (name) => {
  const file = new URL(name, folder);
  const recorded = readFileSync(file, 'utf8');
  const now = answered(recorded);
  if (update) writeFileSync(file, now);
  else expect(now).toBe(recorded);
});
