/** The server over standard input and output: the real command, and the protocol's own client. */

import { describe, expect, it } from 'vitest';
import { ADVISOR, AGENTS, place } from './mcp-fixture.ts';

const TIMEOUT_MS = 300_000;
/** Made up, and of the form that services give out. */
const SECRET = `ghp_${'a1B2c3D4e5F6g7H8i9J0'.repeat(2).slice(0, 36)}`;

describe('state in a repository', () => {
  it(
    'is led through its stages, and outlives a server that is killed',
    async (context) => {
      const { stdio } = await place(context);
      const first = await stdio('ann');
      const began = await first.call('state_init', {
        name: 'upgrade',
        stages: ['bump', 'build', { id: 'test', check: 'test -f built' }],
      });
      expect(began).toMatchObject({ isError: false, text: 'upgrade: 0 of 3 stages done; next is bump.' });
      await first.call('state_checkpoint', { name: 'upgrade', stages: ['bump'], status: 'done', note: 'keep the API' });
      await first.call('state_checkpoint', { name: 'upgrade', stages: ['build'], status: 'in_progress' });
      process.kill(first.pid, 'SIGKILL');

      const second = await stdio('bob');
      const resumed = await second.call('state_resume', { name: 'upgrade' });
      expect(resumed.text).toBe(
        'upgrade: resuming from stage 2 of 3: build (in progress, ann)\nNote of ann: keep the API',
      );
      expect(resumed.data).toMatchObject({ fresh: false, stage: { id: 'build', number: 2, of: 3 } });
      // Somebody else has it in hand, and may still be there.
      const begins = { name: 'upgrade', stages: ['build'], status: 'in_progress' };
      const taken = await second.call('state_checkpoint', begins);
      expect(taken.error).toMatchObject({ code: 'stage-taken' });
      await second.call('state_checkpoint', { ...begins, take: true });
      await second.call('state_checkpoint', { name: 'upgrade', stages: ['build'], status: 'done' });
      const failed = await second.call('state_checkpoint', { name: 'upgrade', stages: ['test'], status: 'done' });
      expect([failed.isError, failed.data.passed]).toEqual([false, false]);
      expect(failed.text).toMatch(
        /^The check of test failed \(1\): test -f built\n.*2 of 3 stages done; next is test/s,
      );
      const open = await second.call('state_complete', { name: 'upgrade' });
      expect(open.error).toMatchObject({ code: 'stages-open' });
      const moved = await second.call('state_migrate', { name: 'upgrade', to: 2, rename: { test: 'verify' } });
      expect(moved.data).toMatchObject({ from: 1, state: { version: 2, current_stage: 'verify' } });
      const shown = await second.call('state_show');
      expect(shown.data.names).toEqual(['upgrade']);
      await second.call('state_complete', { name: 'upgrade', open: true });
      expect((await second.call('state_show', { name: 'upgrade' })).data.state).toBeNull();
    },
    TIMEOUT_MS,
  );

  it(
    'tells bad input by code, field and remedy, and no secret',
    async (context) => {
      const { stdio } = await place(context);
      const ann = await stdio('ann', '--no-checks');
      const ask = ann.call.bind(ann);
      const wrong = await ask('state_init', { name: 'x', stages: [], surprise: SECRET });
      expect(wrong).toMatchObject({ isError: true, error: { code: 'input-invalid', field: 'stages' } });
      expect(wrong.text).toMatch(/^input-invalid: state_init: stages: .*\nfield: stages\nremedy: Correct/s);
      expect((await ask('state_init', { name: '../up', stages: ['a'] })).error).toMatchObject({
        code: 'state-name-invalid',
      });
      const secret = await ask('state_init', { name: 'x', stages: ['a'], note: `use ${SECRET}` });
      expect(secret.error).toMatchObject({ code: 'state-secret', field: '/notes/0/text' });
      const checked = await ask('state_init', { name: 'x', stages: [{ id: 'a', check: 'touch ran' }] });
      expect(checked.error).toMatchObject({ code: 'checks-off', field: 'check' });
      expect((await ask('user_state_get', { key: 'tone' })).error).toMatchObject({
        code: 'user-missing',
        field: 'user',
      });
      expect((await ask('recall', { query: 'x', user: 'ana' })).error).toMatchObject({ code: 'state-missing' });
      for (const told of [wrong, secret, checked]) {
        expect(JSON.stringify(told)).not.toContain(SECRET);
        expect(JSON.stringify(told)).not.toMatch(/\bat .*\.(ts|js):\d+/);
      }
      await expect(ann.client.callTool({ name: 'no_such_tool' })).rejects.toThrow(/no such tool/);
    },
    TIMEOUT_MS,
  );
});

describe('memory', () => {
  it(
    'is shared by two servers and the commands on one folder, and outlives a kill',
    async (context) => {
      const { stdio, run, start } = await place(context);
      const [ann, bob] = await Promise.all([stdio('ann'), stdio('bob', '--user', 'ana')]);
      // Both hold the folder for a moment each: neither gives up, and nothing is lost.
      const facts = ['Ana works from Lisbon', 'Ana reads before noon', 'Ana never takes calls', 'Ana pays by invoice'];
      const said = await Promise.all(
        facts.map((text, at) =>
          at % 2 === 0 ? ann.call('remember', { text, user: 'ana' }) : bob.call('remember', { text }),
        ),
      );
      expect(said.map(({ error }) => error)).toEqual([undefined, undefined, undefined, undefined]);
      await bob.call('user_state_set', { key: 'tone', value: { style: 'brief' } });
      process.kill(ann.pid, 'SIGKILL');
      process.kill(bob.pid, 'SIGKILL');

      // What follows goes through the process that holds the folder.
      await start(/tidemark dev/, 'dev', '--workflows', AGENTS);
      const third = await stdio('cal', '--user', 'ana');
      const listed = await third.call('facts');
      const texts = (listed.data.facts as readonly { text: string; source: string }[]).map(({ text }) => text);
      expect(texts.toSorted()).toEqual(facts.toSorted());
      expect(listed.text).toMatch(/Ana reads before noon \(bob, /);
      const recalled = await third.call('recall', { query: 'where does Ana work from?' });
      expect(recalled.data).toMatchObject({
        by: 'words',
        entries: [{ value: { text: 'Ana works from Lisbon' } }, {}, {}],
      });
      expect((await third.call('user_state_get', { key: 'tone' })).data.entry).toMatchObject({
        value: { style: 'brief' },
      });
      expect((await third.call('user_state_list')).text).toBe('tone: {"style":"brief"}');
      await third.call('user_state_forget', { key: 'tone' });
      expect((await third.call('user_state_get', { key: 'tone' })).data.entry).toBeNull();
      // Nobody else's.
      expect((await third.call('facts', { user: 'eve' })).error).toMatchObject({ code: 'user-fixed', field: 'user' });
      expect((await third.call('remember', { text: `the key is ${SECRET}` })).error).toMatchObject({
        code: 'memory-secret',
        field: '/text',
      });
      const { key } = (await third.call('remember', { text: 'Ana moved to Porto' })).data;
      expect((await third.call('facts')).text).toMatch(/^- Ana moved to Porto \(cal, /m);
      await third.call('forget_fact', { key });
      expect((await third.call('forget_fact', { key })).error).toMatchObject({ code: 'fact-unknown' });
      const command = await run('memory', 'list', '--user', 'ana', '--json');
      expect(JSON.parse(command.out).facts).toHaveLength(4);
    },
    TIMEOUT_MS,
  );
});

describe('a session', () => {
  it(
    'is gone on with through the process that runs it: what is blocked and why, belief, notes, hand-overs',
    async (context) => {
      const { stdio, run, start } = await place(context);
      const dev = await start(/tidemark dev/, 'dev', '--workflows', AGENTS);
      const input = ['--input', '{"order":"4411"}'];
      await run('run', 'support', '--id', 'w1', '--session', 's1', '--user', 'ana', ...input, '--detach');
      const ann = await stdio('ann');
      await expect
        .poll(async () => (await ann.call('session_resume', { session: 's1' })).text, { timeout: 30_000 })
        .toContain('waits for the confirmation');
      const handed = await ann.call('session_handover', {
        session: 's1',
        to: 'bob',
        message: 'Call the depot first.',
        artifacts: ['complaint.pdf'],
      });
      expect(handed.data).toEqual({ session: 's1', from: 'ann', to: 'bob', is_known: true });
      const resumed = await ann.call('session_resume', { session: 's1' });
      expect(resumed.data).toMatchObject({
        session: 's1',
        user: 'ana',
        is_live: true,
        workflow: {
          workflow: 'w1',
          definition: 'support',
          status: 'open',
          goal: ['Settle the complaint about order 4411.'],
          constraints: ['Never promise a date.'],
          checkpoint_note: 'The customer is angry: be brief.',
          last_action: 'read the complaint',
          belief: { findings: ['two items are missing'] },
          pending_task_count: 1,
          next_task: null,
          frontier: [
            { step: 'replace', state: 'blocked', why: expect.stringContaining('waits for the confirmation of') },
          ],
          question: null,
        },
        handovers: [{ from: 'ann', to: 'bob', message: 'Call the depot first.', artifacts: ['complaint.pdf'] }],
      });
      expect(resumed.text).toMatch(
        /^Session s1 of ana goes on in workflow w1 \(support v2, open\)\.\nHanded over from ann/,
      );
      // The process that runs it goes: the next one holds the folder itself.
      dev.kill('SIGKILL');
      const alone = await ann.call('session_resume', { session: 's1' });
      expect(alone.data).toMatchObject({
        is_live: true,
        workflow: { belief: { findings: ['two items are missing'] } },
      });
      expect((await ann.call('session_resume', { session: 's2' })).error).toMatchObject({
        code: 'session-unknown',
        field: 'session',
      });
      // Somebody else's is as if it weren't there.
      const eve = await stdio('eve', '--user', 'eve');
      expect((await eve.call('session_resume', { session: 's1' })).error).toMatchObject({ code: 'session-unknown' });
      const other = await stdio('other', '--tenant', 'other');
      expect((await other.call('session_resume', { session: 's1' })).error).toMatchObject({ code: 'session-unknown' });
    },
    TIMEOUT_MS,
  );

  it(
    'that waits for a person tells the question; one that ended tells its summary',
    async (context) => {
      const { stdio, run } = await place(context);
      const asked = ['--input', '{"order":"7","refunds":true}', '--workflows', AGENTS];
      const parked = await run('run', 'support', '--id', 'w7', '--session', 's7', ...asked);
      expect(parked.code).toBe(1);
      const ann = await stdio('ann');
      const resumed = await ann.call('session_resume', { session: 's7' });
      expect(resumed.data).toMatchObject({
        is_live: true,
        workflow: {
          status: 'parked',
          question: { code: expect.any(String), resolutions: expect.arrayContaining(['done', 'not-done', 'fail']) },
        },
      });
      expect(resumed.text).toMatch(/It waits for a person \([a-z_-]+\): .* They may decide: /);
      await run(
        'approve',
        'w7',
        '--as',
        'done',
        '--response',
        '{"receipt":"r-1"}',
        '--by',
        'ann',
        '--why',
        'the bank says so',
      );
      expect((await run('run', 'support', '--id', 'w7', '--workflows', AGENTS)).code).toBe(0);
      const ended = await ann.call('session_resume', { session: 's7' });
      expect(ended.data).toMatchObject({
        is_live: false,
        workflow: { status: 'completed', output: { parcel: 'r-1' }, frontier: [] },
        summaries: [{ task_description: 'Settle the complaint about order 7.' }],
      });
    },
    TIMEOUT_MS,
  );

  it(
    'tells what a model call saw, rebuilt from the log',
    async (context) => {
      const { stdio, run } = await place(context);
      const asked = ['--input', '{"question":"How do I get to Ghent?"}', '--workflows', ADVISOR];
      expect((await run('run', 'advise', '--id', 'a1', '--session', 'sa', '--user', 'ana', ...asked)).err).toContain(
        'completed',
      );
      const ann = await stdio('ann');
      const seen = await ann.call('bundle', { workflow: 'a1' });
      expect(seen.data).toMatchObject({
        workflow: 'a1',
        at: 1,
        calls: [{ is_same: true, model: 'test-model', status: 'done', answer: { text: 'By train.' } }],
      });
      expect(JSON.stringify(seen.data)).toContain('How do I get to Ghent?');
      expect(seen.text).toMatch(/^a1:0\.0:\S+ \(test-model, done\): rebuilt, the same bytes as were sent/);
      expect((await ann.call('bundle', { workflow: 'a1', at: 9 })).error).toMatchObject({ code: 'checkpoint-unknown' });
      expect((await ann.call('bundle', { workflow: 'a1', call: 2 })).error).toMatchObject({ field: 'call' });
      const eve = await stdio('eve', '--user', 'eve');
      const unknown = { code: 'workflow-unknown', field: 'workflow' };
      expect((await eve.call('bundle', { workflow: 'a1' })).error).toMatchObject(unknown);
      const other = await stdio('other', '--tenant', 'other');
      expect((await other.call('bundle', { workflow: 'a1' })).error).toMatchObject(unknown);
    },
    TIMEOUT_MS,
  );
});
