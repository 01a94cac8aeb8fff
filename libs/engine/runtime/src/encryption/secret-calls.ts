/**
 * Owns calls that are given secrets: of effects, probes and compensations. What a call is given is remembered while it lasts, and masked in
 * whatever comes back, from the answer's fields that are not secret themselves to errors and progress: so nothing that is made of these
 * (records, logs, traces) holds it. The forms in which it is found are `EchoMask`'s. Must not know which fields are secret: parsers do.
 */

import { sealedSecret } from '@tidemark/codec';
import type { Json } from '@tidemark/core';
import { EchoMask } from '@tidemark/secrets';
import {
  type EffectContext,
  type EffectDefinition,
  PendingResult,
  type Progress,
  type StepDefinition,
} from '../definition/index.ts';
import type { Purpose, Vault } from './secret-vault.ts';

const ECHO_MARK = '[masked]';
/** A sealed text may happen to hold a short secret's characters. */
const isSealed = (text: string): boolean => sealedSecret(text) !== undefined;

/** Parsers seal, and whoever calls it is given the values. */
export function sealedEffect(effect: EffectDefinition, vault: Vault): EffectDefinition {
  const { probe, compensate, compensateUnknown, spentOf } = effect;
  const [asked, answered] = [`request ${effect.operation}`, `response ${effect.operation}`] as const;
  const parseResponse = vault.sealing(effect.parseResponse, answered);
  return {
    ...effect,
    parseRequest: vault.sealing(effect.parseRequest, asked),
    parseResponse,
    call: (request, context) =>
      guarded(vault, [[request, asked]], async ([opened], mask) => {
        const answer = await effect.call(opened!, withMaskedProgress(context, mask));
        if (mask.isEmpty) return answer;
        if (answer instanceof PendingResult) return new PendingResult(answer.token, mask.value(answer.detail));
        // Sealed first: what is secret in the answer keeps its value.
        return mask.value(parseResponse(answer), isSealed);
      }),
    probe:
      probe &&
      ((key, context) =>
        guarded(vault, [[context.request, asked]], async ([request], mask) => {
          const found = await probe(key, { ...context, request: request! });
          if (mask.isEmpty || found?.status !== 'done') return found;
          return { ...found, response: mask.value(parseResponse(found.response), isSealed) };
        })),
    compensate:
      compensate &&
      ((response, context) =>
        guarded(vault, [[response, answered]], ([opened], mask) =>
          compensate(opened!, withMaskedProgress(context, mask)),
        )),
    compensateUnknown:
      compensateUnknown &&
      ((request, context) =>
        guarded(vault, [[request, asked]], ([opened], mask) =>
          compensateUnknown(opened!, withMaskedProgress(context, mask)),
        )),
    spentOf: spentOf && ((response) => spentOf(vault.open(response, answered))),
  };
}

/** How a step is undone, given the values. */
export const openedUndo = ({ name, compensate }: StepDefinition, vault: Vault): StepDefinition['compensate'] =>
  compensate &&
  (({ input, output }, context) =>
    guarded(
      vault,
      [
        [input, `task ${name}`],
        [output, `step output ${name}`],
      ],
      async ([opened, left], mask) => compensate({ input: opened!, output: left! }, withMaskedProgress(context, mask)),
    ));

/** What it throws names no secret of what it is given. */
async function guarded<T>(
  vault: Vault,
  given: readonly (readonly [value: Json, purpose: Purpose])[],
  call: (opened: readonly Json[], mask: EchoMask) => Promise<T>,
): Promise<T> {
  const secrets: string[] = [];
  const opened = given.map(([value, purpose]) => vault.open(value, purpose, ({ plain }) => addTexts(plain, secrets)));
  const mask = new EchoMask(secrets, ECHO_MARK);
  try {
    return await call(opened, mask);
  } catch (error) {
    throw mask.error(error);
  }
}

/** Every text and number of a secret value: each may be echoed by itself. */
function addTexts(value: Json, to: string[]): void {
  if (typeof value === 'string' || typeof value === 'number') to.push(String(value));
  else if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) addTexts(each, to);
}

const withMaskedProgress = (context: EffectContext, mask: EchoMask): EffectContext =>
  mask.isEmpty ? context : { ...context, heartbeat: (progress?: Progress) => context.heartbeat(mask.value(progress)) };
