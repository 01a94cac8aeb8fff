/** Entry point of @tidemark/ai. */

export type { ModelSettings } from './call-options.ts';
export { tidemarkEmbeddings } from './embedding-middleware.ts';
export {
  ModelAnswerTooLargeError,
  ModelBusyError,
  ModelContentRefusedError,
  ModelNoAnswerError,
  ModelPromptTooLongError,
  ModelRefusedError,
  ModelStreamError,
  ModelUnavailableError,
  type Received,
} from './errors.ts';
export type { SupportedModel } from './language-model.ts';
export { type ModelCaller, tidemark } from './middleware.ts';
export { type ModelOptions, model } from './model.ts';
export { costMicros, type Price, type PricedUsage } from './price.ts';
export { loadPrices, type OnWarning, type PriceOverrides, type PriceTable, priceTable } from './price-table.ts';
export { type AiSdkTools, aiSdkTools } from './tool-specs.ts';
