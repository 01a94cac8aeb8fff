import {
  generation as asGeneration,
  ConflictError,
  claimId,
  derivedFormOf,
  eventId,
  type Offset,
  type Partition,
  type StreamState,
  streamFromJson,
  type TenantId,
  UnavailableError,
  type WorkflowId,
} from '@tidemark/core';
import type { Digest, LogRecord, Placement, PlacementRequest, Telemetry } from '@tidemark/ports';
import { withSecrets } from '../encryption/index.ts';
import { digestOf, type Guarded, guardOf, type SecretPorts } from '../kernel/index.ts';
import { checkName, inboxRecord } from '../lease/index.ts';
import { beginsAtOnce, isRunnable, jobOf } from '../projection/index.ts';
import { drawUpOpening, modeOf, type Opening, type StartRequest } from '../run/index.ts';
import { OpeningCheck } from './opening-check.ts';
import { Placing, type PlacingOptions } from './placing.ts';

export interface Started {
  readonly workflow: WorkflowId;
  readonly partition: Partition;
  /** False: a workflow with this id already existed, and nothing was started. */
  readonly created: boolean;
}

export interface OpenRequest {
  readonly workflow: WorkflowId;
  readonly tenant: TenantId;
  readonly session?: string | undefined;
  readonly mode: PlacementRequest['mode'];
  /** Joins its parent's partition where it may; false when absent. */
  readonly besideParent?: boolean | undefined;
  /** Name of the definition. */
  readonly name: string;
  /** An ordinary workflow, which workers run: neither a shadow nor an undo. */
  readonly isPlain: boolean;
  readonly unless?: readonly WorkflowId[] | undefined;
  /** The limits of admission apply; absent: they don't. */
  readonly isLimited?: boolean | undefined;
  readonly opening: Guarded<Opening>;
}

export interface StarterOptions extends PlacingOptions {
  readonly ports: PlacingOptions['ports'] & SecretPorts;
}

export class Starter {
  readonly #options: StarterOptions;
  readonly #placing: Placing;
  readonly #openings: OpeningCheck;

  constructor(options: StarterOptions) {
    this.#options = options;
    this.#openings = new OpeningCheck(options.ports);
    this.#placing = new Placing(options);
  }

  /**
   * Starts a workflow, or returns the one that has this id. Resolves when its opening is in the log and accepted. Throws `InvalidError`
   * (input or first belief; `tenant-invalid`), `ConflictError` (`workflow-differs`: the id
   * belongs to another definition or tenant; `workflow-is-shadow`: to a shadow run, which no worker ever runs; `session-busy`: another
   * workflow of the session is open, and is named; `workflow-claimed`: another runs it), `LimitError` (the opening is too large, or the pool is full), `UnavailableError`, and
   * what `withSecrets` throws if the definition has secret fields.
   */
  async start(request: StartRequest): Promise<Started> {
    const { workflow, definition, shadow = false, compensates } = request;
    checkName('tenant', request.tenant);
    const { tenant, user = null } = request;
    const { ports, lamport } = this.#options;
    const { session, tags } = request;
    // An undo has the names of what it undoes.
    const chosen = compensates === undefined ? { workflow, session, user, tags } : {};
    const names = guardOf(definition.name, [definition], ports).names('start', chosen);
    // Its parsers hold the content to the policy.
    const sealed = await withSecrets(definition, ports, () => ({ tenant, workflow, user }));
    const drawn = drawUpOpening({ ...request, definition: sealed }, ports);
    return this.open({
      ...request,
      name: definition.name,
      mode: modeOf(definition),
      opening: names.as(() => ({ lamport: lamport.stamp(), ...drawn })),
      // A start of a shadow says so, and ids of undos are reserved.
      isPlain: !shadow && compensates === undefined,
    });
  }

  /** The same for an opening that the caller has built. */
  async open(request: OpenRequest): Promise<Started> {
    const { workflow, tenant, mode, session = null, isLimited } = request;
    const { value: opening } = request.opening;
    this.checkFits(request);
    const unless = request.unless ?? this.#otherClaim(request);
    const beside = request.besideParent === true ? opening.control.parent?.workflow : undefined;
    const asked = { workflow, tenant, mode, beside, session, unless, isLimited, opening: JSON.stringify(opening) };
    const placement = await this.#placing.place(asked);
    if ('takenBy' in placement) {
      if (unless.includes(placement.takenBy)) throw claimed(request, placement.takenBy);
      throw await this.#sessionBusy(request.session!, placement.takenBy);
    }
    if (!placement.created) await this.#checkSame(request, placement);
    if (!placement.appended) await this.append(placement);
    return { workflow, partition: placement.partition, created: placement.created };
  }

  /** Keeps a run of an agent from beginning twice; see `Shadows.route`. Ids that the system derives are no agent's. */
  #otherClaim({ workflow, name, opening }: OpenRequest): readonly WorkflowId[] {
    if (derivedFormOf(workflow) !== undefined) return [];
    const runner = opening.value.control.shadow ? 'tidemark' : 'agent';
    return [claimOf(runner, { definition: name, workflow }, this.#options.ports.digest)];
  }

  /** Refuses a too large opening before its id is taken, measured with the longest partition and generation. */
  checkFits({ workflow, tenant, opening: { value: opening } }: OpenRequest): void {
    const [partition, generation] = [Number.MAX_SAFE_INTEGER as Partition, Number.MAX_SAFE_INTEGER];
    this.#encode(opening, { workflow, tenant, partition, generation, mode: 'exclusive' });
  }

  async #sessionBusy(session: string, workflow: WorkflowId): Promise<ConflictError> {
    const row = await this.#options.ports.store.workflow(workflow);
    const which = row === undefined ? 'which is starting' : `${row.definition}, ${row.status}`;
    return new ConflictError(
      'session-busy',
      `Session ${session} is open in workflow ${workflow} (${which}). Resume that one, end it, or begin another session.`,
      { session, workflow },
    );
  }

  /** An id answers only the run that it began. */
  async #checkSame({ workflow, tenant, name, isPlain }: OpenRequest, placement: Placement): Promise<void> {
    const { telemetry } = this.#options.ports;
    if (placement.tenant !== tenant) {
      throw idTaken(telemetry, workflow, `Workflow id ${workflow} belongs to another tenant.`);
    }
    const known = placement.appended
      ? (await this.#options.ports.store.workflow(workflow))?.definition
      : (JSON.parse(placement.opening) as Opening).control.definition;
    if (known !== undefined && known !== name) {
      const message = `Workflow id ${workflow} is a run of '${known}', not of '${name}'. Choose another id.`;
      throw idTaken(telemetry, workflow, message, { definition: known });
    }
    if (isPlain && (await this.#isShadow(placement))) throw isShadow(workflow);
  }

  async #isShadow({ workflow, appended, opening }: Placement): Promise<boolean> {
    if (!appended) return (JSON.parse(opening) as Opening).control.shadow;
    const [stream] = await this.#options.ports.store.loadStreams([workflow], { payloads: false });
    return stream !== undefined && streamFromJson(stream.state, stream.tasks).shadow;
  }

  /**
   * Appends the placement's opening, which is harmless if the log already has it, and sends the workflow's job. A start succeeds only once
   * the fold has accepted its opening. A rejected opening is placed again, by a sweep or by the next attempt: `UnavailableError`
   * (`start-in-doubt`).
   */
  async append(placement: Placement): Promise<void> {
    const { log, hints } = this.#options.ports;
    const { workflow, partition } = placement;
    const record = this.#encode(JSON.parse(placement.opening) as Opening, placement);
    const rows = this.#openings.rowsOf(partition);
    const offset = await log.append(partition, [record]);
    // The first checkpoint hints at once, and rows that show all of it are written once.
    hints.publish('appended', partition, 'later');
    const found = await this.#openings.find({ placement, offset, value: record.value, before: await rows });
    if (found === undefined) {
      const message = `The opening of ${workflow} was not accepted; start it again.`;
      throw new UnavailableError('start-in-doubt', message, { workflow });
    }
    if (found !== 'gone') this.#send(found, partition, offset);
  }

  /** A worker need not wait until rows show the workflow: coordinators send no job for what has only been opened. */
  #send(stream: StreamState, partition: Partition, offset: Offset): void {
    const { queue, telemetry } = this.#options.ports;
    if (!beginsAtOnce(stream) || !isRunnable(stream)) return;
    const job = jobOf({ ...stream, partition }, (offset + 1) as Offset, telemetry);
    // A sweep sends one that was lost.
    queue.enqueue([{ ...job, begins: true }]).catch(() => {});
  }

  #encode(
    opening: Opening,
    place: Pick<Placement, 'workflow' | 'tenant' | 'partition' | 'mode'> & { readonly generation: number },
  ): LogRecord {
    const { lamport, atMs, control, payload } = opening;
    const event = {
      id: eventId(`open:${place.workflow}`),
      tenant: place.tenant,
      workflow: place.workflow,
      generation: asGeneration(place.generation),
      lamport,
      atMs,
      type: 'WorkflowOpened',
      control: { ...control, partition: place.partition, placement: place.mode },
    } as const;
    return inboxRecord(this.#options.ports.log, event, payload);
  }
}

/**
 * The refusal of an id that is another workflow's. Nobody can choose an id that the system derives, so one of these that is taken means that
 * what has to be started never will be: a metric counts it, and an alert follows.
 */
export function idTaken(
  telemetry: Telemetry,
  workflow: WorkflowId,
  message: string,
  details: Readonly<Record<string, string>> = {},
): ConflictError {
  const form = derivedFormOf(workflow);
  if (form !== undefined) telemetry.count('workflow_ids_taken_total', 1, { form });
  return new ConflictError('workflow-differs', message, { workflow, ...details });
}

/** The claim that this one runs the definition's workflow of that id. */
export const claimOf = (
  runner: 'agent' | 'tidemark',
  { definition, workflow }: { readonly definition: string; readonly workflow: WorkflowId },
  digest: Digest,
): WorkflowId => claimId(digestOf(digest, [definition, workflow, runner]));

const claimed = ({ workflow, name, isPlain }: OpenRequest, takenBy: WorkflowId): ConflictError =>
  new ConflictError(
    'workflow-claimed',
    isPlain
      ? `Workflow id ${workflow} of '${name}' is left to its agent, which runs elsewhere and was told so: nothing was started. Choose an id that the agent did not ask about, such as 'live:${workflow}'.`
      : `Workflow id ${workflow} of '${name}' is run by Tidemark, as its agent was told: nothing is observed.`,
    { workflow, takenBy },
  );

const isShadow = (workflow: WorkflowId): ConflictError =>
  new ConflictError(
    'workflow-is-shadow',
    `Workflow id ${workflow} belongs to a shadow run: its agent runs elsewhere, and no worker would ever run it. Choose an id that no shadow run has, such as 'live:${workflow}'.`,
    { workflow },
  );
