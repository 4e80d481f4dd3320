import { aime } from './aime.ts';
import { arc } from './arc.ts';
import { bbh } from './bbh.ts';
import { commonsenseqa } from './commonsenseqa.ts';
import { createDatasetRegistry, type DatasetRegistry } from './dataset.ts';
import { gpqa } from './gpqa.ts';
import { gsm8k } from './gsm8k.ts';
import { hellaswag } from './hellaswag.ts';
import { hle } from './hle.ts';
import { mgsm } from './mgsm.ts';
import { mmlu } from './mmlu.ts';
import { mmluPro } from './mmlu-pro.ts';
import { truthfulqa } from './truthfulqa.ts';
import { winogrande } from './winogrande.ts';

/**
 * The built-in datasets. To add one: write its file, list it here and in `docs/formats/questions.md`; if its
 * authors publish averages, add those to `results/dataset-averages.ts`.
 */
export const datasetRegistry: DatasetRegistry = createDatasetRegistry([
  bbh,
  gsm8k,
  mmlu,
  mmluPro,
  gpqa,
  hle,
  arc,
  hellaswag,
  truthfulqa,
  winogrande,
  commonsenseqa,
  mgsm,
  aime,
]);
