/**
 * Owns one view of a definition whose schemas mark fields as secret: steps and effects are given values, and everything that is stored of
 * them (belief, inputs, outputs, requests, responses) has those fields sealed. The rest of the runtime knows sealed texts alone. A fork
 * and an undo have the keys of the workflow whose history they go on from. Must not know which fields are secret: parsers do.
 *
 * S3 A definition with secret fields is neither started nor run where their key may not be used.
 */

import { maskSecrets, maskSecretsIn } from '@tidemark/codec';
import { ConfigError, type Json, type StreamState, streamFromJson, type WorkflowId } from '@tidemark/core';
import type { EffectRow, JsonText, ProjectionStore, RecordOwner, StreamSnapshot } from '@tidemark/ports';
import type {
  CompensatedDefinition,
  ContextDefinition,
  Definition,
  EffectDefinition,
  Parse,
  StepContext,
  StepDefinition,
  StepResult,
  Upcaster,
} from '../definition/index.ts';
import { originOf } from '../history/index.ts';
import { type FieldKeys, overridden, type Ports, type SecretPorts } from '../kernel/index.ts';
import { undoneBy } from '../lease/index.ts';
import type { Reads } from '../projection/index.ts';
import { type ContentTransform, transformedStore } from '../views/index.ts';
import { guardedDefinition } from './guarded-definition.ts';
import { openedUndo, sealedEffect } from './secret-calls.ts';
import { Vault } from './secret-vault.ts';

/** Throws as `WorkflowKeys.find` does: no right to the key, or its provider is away. */
export const vaultOf = async (keys: FieldKeys, owner: RecordOwner): Promise<Vault> =>
  new Vault(owner, await keys.all(owner));

type Keeping = Pick<Ports, 'secrets'>;

/**
 * The definition as this workflow is started or run with it: secret fields are sealed, and what is stored otherwise passes the policy on
 * secrets. Where it has no secret fields, nobody is asked for the owner. Throws `ConfigError` (`secrets-unconfigured`), or as `vaultOf` does.
 */
export async function withSecrets(
  definition: Definition,
  ports: Keeping & SecretPorts,
  owner: () => RecordOwner | Promise<RecordOwner>,
): Promise<Definition> {
  const { secrets } = ports;
  if (definition.hasSecrets !== true) return guardedDefinition(definition, ports);
  if (secrets === undefined) throw unconfigured(definition);
  return guardedDefinition(sealedDefinition(definition, await vaultOf(secrets, await owner())), ports);
}

/** S3. Throws `ConfigError` (`secrets-unconfigured`). */
export function checkSecrets(definitions: readonly Definition[], { secrets }: Keeping): void {
  const found = secrets === undefined ? definitions.find(({ hasSecrets }) => hasSecrets === true) : undefined;
  if (found !== undefined) throw unconfigured(found);
}

const unconfigured = ({ name, version }: Pick<Definition, 'name' | 'version'>): ConfigError =>
  new ConfigError(
    'secrets-unconfigured',
    `${name} v${version} marks fields as secret, and no key for them is named. Set TIDEMARK_SECRETS_KEYS_URL to a key that only those may use who may read them (file:///PATH/secrets.json, aws-kms:KEY?region=REGION, transit:https://HOST/MOUNT/KEY?tokenFile=PATH).`,
    { definition: name, version },
  );

/** Whose keys seal a workflow's secret fields: those of the first that it goes on from, of what it undoes, or its own. */
export async function ownerOf(
  { store }: Pick<Ports, 'store'>,
  { tenant, workflow, user }: Pick<StreamState, 'tenant' | 'workflow' | 'user'>,
): Promise<RecordOwner> {
  let done = workflow;
  // An undo can be undone as well.
  for (let before = undoneBy(done); before !== undefined; before = undoneBy(done)) done = before;
  const origin = await originOf((of, options) => store.checkpoints(of, options), done);
  return { tenant, workflow: origin?.shares.at(-1)?.workflow ?? done, user: user ?? null };
}

export const haveSecrets = (effects: readonly EffectDefinition[]): boolean =>
  effects.some(({ hasSecrets }) => hasSecrets === true);

/** Effects whose parsers seal what is said of them. Throws as `withSecrets` does. */
export async function sealedEffects(
  effects: readonly EffectDefinition[],
  ports: Pick<Ports, 'store' | 'secrets'>,
  state: StreamState,
): Promise<readonly EffectDefinition[]> {
  if (ports.secrets === undefined) throw unconfigured({ name: state.definition, version: state.version });
  const vault = await vaultOf(ports.secrets, await ownerOf(ports, state));
  return effects.map((effect) => sealedEffect(effect, vault));
}

/** Secret fields of what a workflow said, as this process may see them: with the use of their key as they are, else masked. */
export async function shownSecrets(
  value: Json,
  { store, secrets }: Pick<Ports, 'store' | 'secrets'>,
  workflow: WorkflowId,
): Promise<Json> {
  const masked = maskSecrets(value);
  if (masked === value || secrets === undefined) return masked;
  const [snapshot] = await store.loadStreams([workflow]);
  if (snapshot === undefined) return masked;
  const owner = await ownerOf({ store }, streamFromJson(snapshot.state, snapshot.tasks));
  return maskSecrets((await vaultOf(secrets, owner)).reveal(value));
}

/** Rows as people see them: secret fields are masked, in what rows hold and in what they bring from the log. */
export const maskedStore = (store: ProjectionStore): ProjectionStore =>
  overridden(transformedStore(store, MASKING), maskedReads(store));

/** Of every read that brings what records say: the type knows which those are. */
const maskedReads = (store: Reads<JsonText>): Reads<JsonText> => ({
  loadStreams: async (ids) => (await store.loadStreams(ids)).map(maskedSnapshot),
  checkpoints: async (...of) => (await store.checkpoints(...of)).map(masked),
  effects: async (...of) => (await store.effects(...of)).map(maskedEffect),
  effectPage: async (...of) => (await store.effectPage(...of)).map(maskedEffect),
  events: async (...of) => (await store.events(...of)).map(masked),
});

const masked = <R extends { readonly payload: JsonText }>(row: R): R => ({
  ...row,
  payload: maskSecretsIn(row.payload),
});

const maskedEffect = (row: EffectRow): EffectRow => ({
  ...masked(row),
  request: row.request === null ? null : maskSecretsIn(row.request),
});

const maskedSnapshot = (snapshot: StreamSnapshot): StreamSnapshot => ({
  ...snapshot,
  checkpoints: snapshot.checkpoints.map(masked),
  effects: snapshot.effects.map(masked),
  causes: snapshot.causes.map(masked),
});

const MASKING: ContentTransform = {
  inward: async (work) => work((text) => text),
  outward: async (work) => work(maskSecretsIn),
};

/** Of an undo: what it is given was sealed by the workflow that it undoes, and stays so until a compensation is called. */
const sealedDefinition = (definition: Definition, vault: Vault): Definition =>
  definition.undoing?.((of) => sealedUndone(of, vault)) ?? sealedPlain(definition, vault);

function sealedPlain(definition: Definition, vault: Vault): Definition {
  const { open, sealing } = vault;
  const parseOutput = sealing(definition.parseOutput, 'output');
  const effects = new Map<EffectDefinition, EffectDefinition>();
  /** One for each, so that they compare as those do. */
  const effectOf = (effect: EffectDefinition): EffectDefinition => {
    const known = effects.get(effect);
    if (known !== undefined) return known;
    const sealed = sealedEffect(effect, vault);
    effects.set(effect, sealed);
    return sealed;
  };
  return {
    ...definition,
    parseInput: sealing(definition.parseInput, 'input'),
    parseBelief: sealing(definition.parseBelief, 'belief'),
    parseOutput,
    begin: (input) => definition.begin(open(input, 'input')),
    steps: new Map(
      Array.from(definition.steps, ([name, step]) => [name, sealedStep(step, vault, effectOf, parseOutput)]),
    ),
    effects: definition.effects.map(effectOf),
    upcasters: new Map(Array.from(definition.upcasters, ([from, upcaster]) => [from, openedUpcaster(upcaster, vault)])),
    context: definition.context && maskedContext(definition.context),
  };
}

/** What it did, and how that is undone. */
const sealedUndone = (of: CompensatedDefinition, vault: Vault): CompensatedDefinition => {
  const undoing = of.undoing?.((before) => sealedUndone(before, vault));
  if (undoing !== undefined) return undoing;
  return {
    ...of,
    effects: of.effects.map((effect) => sealedEffect(effect, vault)),
    steps: new Map(Array.from(of.steps, ([name, step]) => [name, { ...step, compensate: openedUndo(step, vault) }])),
  };
};

function sealedStep(
  step: StepDefinition,
  vault: Vault,
  effectOf: (effect: EffectDefinition) => EffectDefinition,
  parseDone: Parse,
): StepDefinition {
  const { open, sealing } = vault;
  const own: Parsers = { parseOutput: sealing(step.parseOutput, `step output ${step.name}`), parseDone };
  return {
    ...step,
    parseInput: sealing(step.parseInput, `task ${step.name}`),
    parseOutput: own.parseOutput,
    async run(context, input) {
      const result = await step.run(openedContext(context, vault, effectOf), open(input, `task ${step.name}`));
      return sealedResult(result ?? {}, own, vault);
    },
    compensate: openedUndo(step, vault),
  };
}

/** Sealed before anything is made of it, such as the session's summary. The belief of the commit is given as it is, and sealed after. */
function sealedResult(result: StepResult, { parseOutput, parseDone }: Parsers, { open }: Vault): StepResult {
  const { belief, output, done } = result;
  return {
    ...result,
    ...(belief !== undefined && { belief: (before: Json) => belief(open(before, 'belief')) }),
    ...(output !== undefined && { output: parseOutput(output) }),
    ...(done !== undefined && { done: parseDone(done) }),
  };
}

/** Of what a step leaves, and of what it ends the workflow with. */
interface Parsers {
  readonly parseOutput: Parse;
  readonly parseDone: Parse;
}

const openedContext = (
  context: StepContext,
  { open }: Vault,
  effectOf: (effect: EffectDefinition) => EffectDefinition,
): StepContext =>
  overridden<StepContext>(context, {
    input: open(context.input, 'input'),
    belief: open(context.belief, 'belief'),
    effect: async (effect, request, options) =>
      open(await context.effect(effectOf(effect), request, options), `response ${effect.operation}`),
    outputs: async (step) => (await context.outputs(step)).map((output) => open(output, `step output ${step}`)),
  });

const openedUpcaster = ({ input, belief, task }: Upcaster, { open }: Vault): Upcaster => ({
  input: input && ((value) => input(open(value, 'input'))),
  belief: (value) => belief(open(value, 'belief')),
  task: (step, value) => task(step, open(value, `task ${step}`)),
});

/** What models are told is stored as it is told. */
const maskedContext = (context: ContextDefinition): ContextDefinition => {
  const { system } = context;
  if (system === undefined) return context;
  // Not a copy, which would load the tokenizer.
  return overridden<ContextDefinition>(context, { system: (input) => system(maskSecrets(input)) });
};
