/**
 * Owns calls that receive secrets: of effects, probes and compensations. It remembers the secrets that a call receives while the call
 * lasts, and masks them in everything that comes back: fields of the answer that are not secret themselves, errors, progress. So no record,
 * log or trace made of these has them. `EchoMask` knows the forms in which they are found. It does not know which fields are secret:
 * parsers do.
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
/** A sealed text may happen to contain a short secret's characters. */
const isSealed = (text: string): boolean => sealedSecret(text) !== undefined;

/** Parsers seal, and the call itself receives the values. */
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
        // Sealed first, so that secret fields of the answer keep their value.
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

/** A step's compensation, which receives the values. */
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

/** Masks the secrets that the call receives in what it throws. */
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

/** Adds every text and number of a secret value, because each may be echoed by itself. */
function addTexts(value: Json, to: string[]): void {
  if (typeof value === 'string' || typeof value === 'number') to.push(String(value));
  else if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) addTexts(each, to);
}

const withMaskedProgress = (context: EffectContext, mask: EchoMask): EffectContext =>
  mask.isEmpty ? context : { ...context, heartbeat: (progress?: Progress) => context.heartbeat(mask.value(progress)) };
