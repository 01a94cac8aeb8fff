/**
 * Owns reading the description of a sentence model from its folder before the model is loaded: the length of its vectors, the precision of
 * its weights, how the vectors of its tokens are pooled. The layout is that of models on the Hugging Face hub with ONNX weights:
 * `config.json`, `tokenizer.json`, `onnx/model.onnx` or a quantized one.
 */

import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ConfigError } from '@tidemark/core';

/** File of the weights by precision, the most precise first. */
const WEIGHTS = [
  ['fp32', 'model.onnx'],
  ['fp16', 'model_fp16.onnx'],
  ['q8', 'model_quantized.onnx'],
  ['int8', 'model_int8.onnx'],
  ['uint8', 'model_uint8.onnx'],
  ['q4', 'model_q4.onnx'],
] as const;

export type Precision = (typeof WEIGHTS)[number][0];

export interface ModelFolder {
  readonly folder: string;
  readonly dimension: number;
  readonly precision: Precision;
  readonly pooling: 'mean' | 'cls';
}

/** Throws `ConfigError` (`embedding-model`), which names what is missing. */
export function readModelFolder(given: string): ModelFolder {
  const folder = path.resolve(given);
  const config = readJson(folder, 'config.json');
  readJson(folder, 'tokenizer_config.json');
  if (!existsSync(path.join(folder, 'tokenizer.json'))) throw missing(folder, 'tokenizer.json');
  const dimension = config.hidden_size;
  if (typeof dimension !== 'number') throw missing(folder, '`hidden_size` in config.json');
  const [precision] = WEIGHTS.find(([, file]) => existsSync(path.join(folder, 'onnx', file))) ?? [];
  if (precision === undefined)
    throw missing(folder, `ONNX weights (${WEIGHTS.map(([, file]) => `onnx/${file}`).join(', ')})`);
  return { folder, dimension, precision, pooling: poolingOf(folder) };
}

function poolingOf(folder: string): ModelFolder['pooling'] {
  const file = '1_Pooling/config.json';
  if (!existsSync(path.join(folder, file))) return 'mean';
  return readJson(folder, file).pooling_mode_cls_token === true ? 'cls' : 'mean';
}

function readJson(folder: string, file: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as Readonly<Record<string, unknown>>;
  } catch (cause) {
    throw missing(folder, `a readable ${file}`, cause);
  }
}

const missing = (folder: string, what: string, cause?: unknown): ConfigError =>
  new ConfigError('embedding-model', `The folder ${folder} holds no sentence model: it lacks ${what}`, {
    folder,
    ...(cause === undefined ? {} : { cause }),
  });
