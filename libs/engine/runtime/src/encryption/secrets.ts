/**
 * Owns a view of a definition whose schemas mark fields as secret: steps and effects receive values, and everything stored of them (belief,
 * inputs, outputs, requests, responses) has those fields sealed. The rest of the runtime only sees sealed texts. A fork or an undo uses the
 * keys of the workflow whose history it continues. It does not know which fields are secret: parsers do.
 *
 * S3 A definition with secret fields is neither started nor run where their key may not be used.
 */

import { maskSecrets, maskSecretsIn, readingNow } from '@tidemark/codec';
import { ConfigError, type Json, type StreamState, streamFromJson, type WorkflowId } from '@tidemark/core';
import type { JsonText, ProjectionStore, RecordOwner } from '@tidemark/ports';
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
import { ANY_STEP } from '../definition/index.ts';
import { originOf } from '../history/index.ts';
import { type FieldKeys, overridden, type Ports, type SecretPorts } from '../kernel/index.ts';
import { compensatedBy } from '../lease/index.ts';
import { fillCheckpoint, fillEffect, fillEvent, fillSnapshot, type Reads } from '../projection/index.ts';
import { type ContentTransform, transformedStore } from '../views/index.ts';
import { guardedDefinition } from './guarded-definition.ts';
import { openedUndo, sealedEffect } from './secret-calls.ts';
import { Vault } from './secret-vault.ts';

/** Throws what `WorkflowKeys.find` throws: no right to the key, or its provider is unavailable. */
export const vaultOf = async (keys: FieldKeys, owner: RecordOwner): Promise<Vault> =>
  new Vault(owner, await keys.all(owner));

type Keeping = Pick<Ports, 'secrets'>;

/**
 * The definition as this workflow uses it: secret fields are sealed, and everything else that it stores passes the policy on secrets.
 * `owner` is only called for definitions with secret fields. Throws `ConfigError` (`secrets-unconfigured`), and what `vaultOf` throws.
 */
export async function withSecrets(
  definition: Definition,
  ports: Keeping & SecretPorts,
  owner: () => RecordOwner | Promise<RecordOwner>,
): Promise<Definition> {
  return guardedDefinition(await withSealedFields(definition, ports, owner), ports);
}

/** The same without the policy: for a worker that looks at a sample of what it has committed. */
export async function withSealedFields(
  definition: Definition,
  { secrets }: Keeping,
  owner: () => RecordOwner | Promise<RecordOwner>,
): Promise<Definition> {
  if (definition.hasSecrets !== true) return definition;
  if (secrets === undefined) throw unconfigured(definition);
  return sealedDefinition(definition, await vaultOf(secrets, await owner()));
}

/** S3. Throws `ConfigError` (`secrets-unconfigured`). */
export function checkSecrets(definitions: readonly Definition[], { secrets }: Keeping): void {
  const found = secrets === undefined ? definitions.find(({ hasSecrets }) => hasSecrets === true) : undefined;
  if (found !== undefined) throw unconfigured(found);
}

const unconfigured = ({ name, version }: Pick<Definition, 'name' | 'version'>): ConfigError =>
  new ConfigError(
    'secrets-unconfigured',
    `${name} v${version} marks fields as secret, and no key for them is named. Set TIDEMARK_SECRETS_KEYS_URL to a key that only those can use who may read them (file:///PATH/secrets.json, aws-kms:KEY?region=REGION, transit:https://HOST/MOUNT/KEY?tokenFile=PATH).`,
    { definition: name, version },
  );

/**
 * The owner of the keys that seal a workflow's secret fields: for a fork the first workflow of its history, for an undo the workflow that
 * it compensates, else the workflow itself.
 */
export async function ownerOf(
  { store }: Pick<Ports, 'store'>,
  { tenant, workflow, user }: Pick<StreamState, 'tenant' | 'workflow' | 'user'>,
): Promise<RecordOwner> {
  let done = workflow;
  // An undo can itself be compensated.
  for (let before = compensatedBy(done); before !== undefined; before = compensatedBy(done)) done = before;
  const origin = await originOf((of, options) => store.checkpoints(of, options), done);
  return { tenant, workflow: origin?.shares.at(-1)?.workflow ?? done, user: user ?? null };
}

export const haveSecrets = (effects: readonly EffectDefinition[]): boolean =>
  effects.some(({ hasSecrets }) => hasSecrets === true);

/** Effects whose parsers seal secret fields. Throws what `withSecrets` throws. */
export async function sealedEffects(
  effects: readonly EffectDefinition[],
  ports: Pick<Ports, 'store' | 'secrets'>,
  state: StreamState,
): Promise<readonly EffectDefinition[]> {
  if (ports.secrets === undefined) throw unconfigured({ name: state.definition, version: state.version });
  const vault = await vaultOf(ports.secrets, await ownerOf(ports, state));
  return effects.map((effect) => sealedEffect(effect, vault));
}

/** A workflow's value with its secret fields as this process may see them: in clear if it may use their key, else masked. */
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

/** Rows as people see them: with masked secret fields, in columns and in payloads from the log. */
export const maskedStore = (store: ProjectionStore): ProjectionStore =>
  overridden(transformedStore(store, MASKING), maskedReads(store));

/** All reads that return payloads: the type lists them. */
const maskedReads = (store: Reads<JsonText>): Reads<JsonText> => ({
  loadStreams: async (...of) => (await store.loadStreams(...of)).map((row) => fillSnapshot(row, maskSecretsIn)),
  checkpoints: async (...of) => (await store.checkpoints(...of)).map((row) => fillCheckpoint(row, maskSecretsIn)),
  effects: async (...of) => (await store.effects(...of)).map((row) => fillEffect(row, maskSecretsIn)),
  effectPage: async (...of) => (await store.effectPage(...of)).map((row) => fillEffect(row, maskSecretsIn)),
  events: async (...of) => (await store.events(...of)).map((row) => fillEvent(row, maskSecretsIn)),
});

const MASKING: ContentTransform = {
  inward: async (work) => work((text) => text),
  outward: async (work) =>
    work((text) => {
      readingNow()?.keep(text.length);
      return maskSecretsIn(text);
    }),
};

/** An undo's inputs were sealed by the workflow that it compensates, and stay sealed until a compensation is called. */
const sealedDefinition = (definition: Definition, vault: Vault): Definition =>
  definition.undoFor?.((of) => sealedCompensated(of, vault)) ?? sealedPlain(definition, vault);

function sealedPlain(definition: Definition, vault: Vault): Definition {
  const { open, sealing } = vault;
  const parseOutput = sealing(definition.parseOutput, 'output');
  const effects = new Map<EffectDefinition, EffectDefinition>();
  /** The same copy for the same effect, so that copies compare as the originals do. */
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
    begin: (input, at) => definition.begin(open(input, 'input'), at),
    steps: new Map(
      Array.from(definition.steps, ([name, step]) => [
        name,
        sealedStep(step, vault, (context) => openedContext(context, definition, vault, effectOf), parseOutput),
      ]),
    ),
    effects: definition.effects.map(effectOf),
    upcasters: new Map(Array.from(definition.upcasters, ([from, upcaster]) => [from, openedUpcaster(upcaster, vault)])),
    context: definition.context && maskedContext(definition.context),
  };
}

/** The compensated definition, with effects and steps whose compensations receive the values. */
const sealedCompensated = (of: CompensatedDefinition, vault: Vault): CompensatedDefinition => {
  const undoFor = of.undoFor?.((before) => sealedCompensated(before, vault));
  if (undoFor !== undefined) return undoFor;
  return {
    ...of,
    effects: of.effects.map((effect) => sealedEffect(effect, vault)),
    steps: new Map(Array.from(of.steps, ([name, step]) => [name, { ...step, compensate: openedUndo(step, vault) }])),
  };
};

function sealedStep(
  step: StepDefinition,
  vault: Vault,
  opened: (context: StepContext) => StepContext,
  parseDone: Parse,
): StepDefinition {
  const { open, sealing } = vault;
  const own: Parsers = { parseOutput: sealing(step.parseOutput, `step output ${step.name}`), parseDone };
  return {
    ...step,
    parseInput: sealing(step.parseInput, `task ${step.name}`),
    parseOutput: own.parseOutput,
    async run(context, input) {
      const result = await step.run(opened(context), open(input, `task ${step.name}`));
      return sealedResult(result ?? {}, own, vault);
    },
    compensate: openedUndo(step, vault),
  };
}

/**
 * Sealed before anything uses it, such as the session's summary. The belief function receives opened belief at commit, and its result is
 * sealed after that.
 */
function sealedResult(result: StepResult, { parseOutput, parseDone }: Parsers, { open }: Vault): StepResult {
  const { belief, output, done } = result;
  return {
    ...result,
    ...(belief !== undefined && { belief: (before: Json) => belief(open(before, 'belief')) }),
    ...(output !== undefined && { output: parseOutput(output) }),
    ...(done !== undefined && { done: parseDone(done) }),
  };
}

/** Parsers of the step's output, and of the output that ends the workflow. */
interface Parsers {
  readonly parseOutput: Parse;
  readonly parseDone: Parse;
}

function openedContext(
  context: StepContext,
  { steps }: Definition,
  { open }: Vault,
  effectOf: (effect: EffectDefinition) => EffectDefinition,
): StepContext {
  const openedOutput = (step: string, output: Json): Json =>
    open(output, `step output ${steps.has(step) ? step : ANY_STEP}`);
  return overridden<StepContext>(context, {
    input: open(context.input, 'input'),
    belief: open(context.belief, 'belief'),
    effect: async (effect, request, options) =>
      open(await context.effect(effectOf(effect), request, options), `response ${effect.operation}`),
    outputs: async (step) => (await context.outputs(step)).map((output) => openedOutput(step, output)),
    journal: async (after) =>
      (await context.journal(after)).map((each) => ({ ...each, output: openedOutput(each.step, each.output) })),
  });
}

const openedUpcaster = ({ input, belief, task }: Upcaster, { open }: Vault): Upcaster => ({
  input: input && ((value) => input(open(value, 'input'))),
  belief: (value) => belief(open(value, 'belief')),
  task: (step, value) => task(step, open(value, `task ${step}`)),
});

/** The prompt is stored as the model receives it, so it is masked. */
const maskedContext = (context: ContextDefinition): ContextDefinition => {
  const { system } = context;
  if (system === undefined) return context;
  // A copy would load the tokenizer.
  return overridden<ContextDefinition>(context, { system: (input) => system(maskSecrets(input)) });
};
