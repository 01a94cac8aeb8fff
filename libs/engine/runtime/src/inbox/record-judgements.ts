/**
 * Owns a person's judgement of an unreadable record at which a workflow stopped: `skip` it, or `take` it (read it again, once what was
 * missing is there; for a workflow that began before encryption, accept its plain history). The judgement is an event of the workflow, so
 * every reader knows it, and the projector resumes the workflow (resume-after-upgrade.ts). It does not read the record.
 */

import { ConflictError, type Controls, eventId, InvalidError, type Offset, type WorkflowId } from '@tidemark/core';
import { PLAIN_REFUSED, type WorkflowKeys } from '../encryption/index.ts';
import { checkName, checkText } from '../lease/index.ts';
import type { LifecycleAsk } from './lifecycle.ts';
import type { WorkflowInbox } from './workflow-inbox.ts';

/** How long a person's judgement of an unreadable record may take to show in rows, in milliseconds: then the workflow resumes. */
const RECORD_JUDGED_GRACE_MS = 10_000;

export type Judgement = Controls['RecordJudged']['judgement'];

export interface RecordJudged {
  readonly workflow: WorkflowId;
  readonly offset: Offset;
  /** Why the record could not be read. */
  readonly problem: string;
}

export class RecordJudgements {
  readonly #inbox: WorkflowInbox;
  readonly #keys: Pick<WorkflowKeys, 'takePlain'> | undefined;

  constructor(inbox: WorkflowInbox, keys?: Pick<WorkflowKeys, 'takePlain'>) {
    this.#inbox = inbox;
    this.#keys = keys;
  }

  /** See `Client.judge`. */
  async judge(id: string, judgement: Judgement, ask: LifecycleAsk): Promise<RecordJudged> {
    const by = checkName('by', ask.by);
    checkText('why', ask.why);
    const { row, state } = await this.#inbox.exactly(id);
    const { workflow, tenant } = row;
    const { problem, offset, type } = state.unreadable ?? {};
    if (problem === undefined || offset === undefined) {
      throw new ConflictError('record-readable', `Workflow ${id} is not stopped at an unreadable record.`, {
        workflow,
      });
    }
    if (judgement === 'skip' && type === 'WorkflowOpened') {
      const message = `The opening of workflow ${id} can't be read (${problem}), and can't be skipped: nothing of it runs. Restore what is missing, or start another workflow.`;
      throw new InvalidError('opening-not-skipped', message, { workflow, problem });
    }
    if (judgement === 'take' && problem === PLAIN_REFUSED) {
      await this.#keys?.takePlain({ workflow, tenant, user: state.user ?? null });
    }
    const guard = this.#inbox.guard(row);
    const event = eventId(`judged:${this.#inbox.uuid()}`);
    const head = guard.names('by', by).as(() => ({ id: event, control: { offset, judgement, by } }));
    await this.#inbox.write(row, 'RecordJudged', head, guard.content('decision', judgement, { why: ask.why }));
    const outcome = await this.#inbox.pollFor(RECORD_JUDGED_GRACE_MS, async () => {
      const { unreadable } = (await this.#inbox.exactly(id)).state;
      if (unreadable?.offset !== offset) return 'resumed';
      // Rows have the judgement, but the projector has not tried yet.
      return unreadable.judgement === undefined ? 'stays' : undefined;
    });
    if (outcome === 'resumed') return { workflow, offset, problem };
    throw new ConflictError(
      'record-unreadable',
      `Workflow ${id}: the ${type} at offset ${offset} still can't be read (${problem}). Restore what is missing and take it again, or skip it.`,
      { workflow, offset, problem },
    );
  }
}
