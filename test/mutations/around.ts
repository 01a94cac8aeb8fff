/** Owns the mutations of what stands around the engine: commands, hosts, clients, receivers, files, memory and models. */

import type { Mutations } from './mutation.ts';

export const AROUND_MUTATIONS: Mutations = {
  'dropped-tasks-untold': {
    file: 'libs/operate/cli/src/views/history.ts',
    edits: [['return Array.isArray(detail?.tasks) ? droppedWords(detail) : undefined;', 'return undefined;']],
    caughtBy: 'libs/operate/cli/src/commands/show/show-children.test.ts',
    breaks: 'People are told which tasks the end of a workflow dropped.',
  },
  'credentials-in-failures': {
    file: 'libs/operate/cli/src/failures.ts',
    edits: [
      [
        'const whole = withoutCredentials(words(error instanceof Error ? error.message || error.name : String(error)));',
        'const whole = error instanceof Error ? error.message || error.name : String(error);',
      ],
    ],
    caughtBy: 'libs/operate/cli/src/failures.test.ts',
    breaks: 'A failure is reported without the credentials of an address.',
  },
  'stored-text-steers-the-terminal': {
    file: 'libs/operate/cli/src/text/width.ts',
    edits: [['const CONTROL = /[\\p{Cc}\\u202A', 'const CONTROL = /[\\u202A']],
    caughtBy: 'libs/operate/cli/src/text/width.test.ts',
    breaks: 'No stored text can steer a terminal.',
  },
  'place-opened-before-the-check': {
    file: 'libs/operate/cli/src/program/program-kit.ts',
    edits: [
      ['  const work = await prepare(...given);\n', ''],
      ['(place) =>\n    work({', 'async (place) =>\n    (await prepare(...given))({'],
    ],
    caughtBy: 'libs/operate/cli/src/program/program.test.ts',
    test: 'creates nothing: budget set',
    breaks: 'Wrong input is refused before a folder is opened, and creates nothing.',
  },
  'no-authentication-for-all': {
    file: 'libs/operate/host/src/access-config.ts',
    edits: [['if (access === null && !isLoopback(host)) {', "if (access === null && host === '0.0.0.0') {"]],
    caughtBy: 'libs/operate/host/src/access-config.test.ts',
    breaks: 'Where nobody has to say who they are, no other machine may ask.',
  },
  'busy-worker-leaves': {
    file: 'libs/operate/host/src/leave-idle.ts',
    edits: [['    if (of().workflowCount > 0) sinceMs = clock.monotonicMs();\n', '']],
    caughtBy: 'libs/operate/host/src/leave-idle.test.ts',
    breaks: 'A worker with work in hand does not leave as idle.',
  },
  'decision-on-the-next-question': {
    file: 'libs/operate/client/src/run.ts',
    edits: [['{ isRepeatable: decision.question !== undefined },', 'REPEATABLE,']],
    caughtBy: 'libs/operate/client/src/repeats.test.ts',
    breaks: 'A decision that names no question is sent once.',
  },
  'follower-begins-again': {
    file: 'libs/operate/client/src/follow.ts',
    edits: [['        if (id !== undefined) lastId = id;\n', '']],
    caughtBy: 'libs/operate/client/src/follow.test.ts',
    breaks: 'A connection that is made again goes on behind the last event that was read.',
  },
  'last-flush-begins-reads': {
    file: 'libs/operate/traces/src/live-traces.ts',
    edits: [['if (this.#isEnding || clock', 'if (clock']],
    caughtBy: 'libs/operate/traces/src/live-traces.test.ts',
    breaks: 'The export of traces reads nothing from a store that is being closed.',
  },
  'redirect-is-done': {
    file: 'libs/author/effects/src/http-outcome.ts',
    edits: [['if (status >= 200 && status < 300)', 'if (status >= 200 && status < 304)']],
    caughtBy: 'libs/author/effects/src/http-effect.test.ts',
    test: '303: unknown',
    breaks: 'A call that was sent elsewhere is not known to be done.',
  },
  'other-file-counts-as-written': {
    file: 'libs/author/effects/src/file-writing.ts',
    edits: [["  return found === wanted ? 'same' : 'other';", "  return 'same';"]],
    caughtBy: 'libs/author/effects/src/file-effect.test.ts',
    failsWith: 'written',
    breaks: 'A file that somebody else wrote is not taken for the own one.',
  },
  'file-of-another-program-is-replaced': {
    file: 'libs/author/files/src/others.ts',
    edits: [['if (why !== undefined) throw foreign(', 'if (why === null) throw foreign(']],
    caughtBy: 'libs/author/files/src/export.test.ts',
    breaks: "Another program's file of a name of ours is refused, and not touched.",
  },
  'output-of-another-program-is-replaced': {
    file: 'libs/author/files/src/keeper.ts',
    edits: [['now === text || this.#state.isWritten(file, now)', "now !== ''"]],
    caughtBy: 'libs/author/files/src/export.test.ts',
    breaks: 'An output whose content was not written here is refused, and not touched.',
  },
  'state-of-another-run-is-replaced': {
    file: 'libs/author/files/src/others.ts',
    edits: [['return isAnyRun || isKnown(read.value.pipeline_id) ?', "return read.value.pipeline_id !== '' ?"]],
    caughtBy: 'libs/author/files/src/export.test.ts',
    breaks: "Another run's state is refused also where the folder shows a run.",
  },
  'names-in-capitals-collide': {
    file: 'libs/author/files/src/documents.ts',
    edits: [['plain === name && !/[A-Z]/.test(plain) && ', 'plain === name && ']],
    caughtBy: 'libs/author/files/src/export.test.ts',
    breaks: 'Names that differ in case are distinct files on every disk.',
  },
  'secret-in-exported-files': {
    file: 'libs/author/files/src/withhold.ts',
    edits: [['    if (found.length > 0) outputs.add(name);\n', '']],
    caughtBy: 'libs/author/files/src/export.test.ts',
    breaks: 'An output with a secret is not written to files.',
  },
  'secret-is-imported': {
    file: 'libs/author/files/src/import.ts',
    edits: [['    refuseSecrets(key, value, find);\n', '']],
    caughtBy: 'libs/author/files/src/import.test.ts',
    breaks: 'No secret is taken over from files.',
  },
  'key-of-another-input-counts': {
    file: 'libs/author/sdk/src/pipeline-record.ts',
    edits: [['  isEmpty(input) ? doneKey(key)', "  input !== 'none' ? doneKey(key)"]],
    caughtBy: 'libs/author/sdk/src/pipeline.test.ts',
    breaks: 'Inputs of one day have the same keys, and records of their own.',
  },
  'lock-of-another-program-is-passed': {
    file: 'libs/author/files/src/folder.ts',
    edits: [['if (lock !== undefined) await flock(', 'if (lock === null) await flock(']],
    caughtBy: 'libs/author/files/src/mirror.test.ts',
    test: 'waits for the one who is writing there',
    breaks: 'A file that others have locked is not replaced meanwhile.',
  },
  'tokens-of-others-are-lost': {
    file: 'libs/author/files/src/keeper.ts',
    edits: [['Math.max(own.total_tokens_used, total - counted + tokens)', 'own.total_tokens_used']],
    caughtBy: 'libs/author/files/src/mirror.test.ts',
    test: 'loses none, nor what it spends',
    breaks: 'What others spend stays in the total.',
  },
  'lines-of-others-are-lost': {
    file: 'libs/author/files/src/formats.ts',
    edits: [['    lines.push({ text: whole, atMs:', '    if (parsed === null) lines.push({ text: whole, atMs:']],
    caughtBy: 'libs/author/files/src/export.test.ts',
    test: 'what it says in the same form stays',
    breaks: 'Lines that others write to the execution log stay in it.',
  },
  'ambiguous-hand-over-reaches-the-first': {
    file: 'libs/author/files/src/way-back.ts',
    edits: [['  if (targets.length < 2) return;\n', '  if (targets.length > 0) return;\n']],
    caughtBy: 'libs/author/files/src/import.test.ts',
    test: 'says so by its name',
    breaks: 'A hand-over that several steps may be meant by is reported.',
  },
  'vector-of-no-numbers': {
    file: 'libs/engine/memory/src/recall.ts',
    edits: [['vector.length === 0 || !vector.every(Number.isFinite)', 'vector.length === 0']],
    caughtBy: 'libs/engine/memory/src/recall.test.ts',
    breaks: 'Words decide alone where an embedder answers with what is no vector.',
  },
  'memory-of-another-tenant': {
    file: 'libs/engine/memory/src/recall.ts',
    edits: [['const query = { tenant, kinds', "const query = { tenant: 'acme' as TenantId, kinds"]],
    caughtBy: 'libs/engine/memory/src/recall.test.ts',
    breaks: 'Memory of one tenant is recalled for that tenant alone (I9).',
  },
  'cost-is-rounded-down': {
    file: 'libs/author/ai/src/price.ts',
    edits: [['(total + 999_999n) / 1_000_000n', 'total / 1_000_000n']],
    caughtBy: 'libs/author/ai/src/price.test.ts',
    breaks: 'A cost is never understated.',
  },
  'key-of-a-header-is-shown': {
    file: 'libs/author/ai/src/hidden.ts',
    edits: [['  for (const word of value.split(/[\\s,;]+/)) known.add(word);\n', '']],
    caughtBy: 'libs/author/ai/src/hidden.test.ts',
    breaks: 'The key that a header has is hidden wherever it occurs.',
  },
};
