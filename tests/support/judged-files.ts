import { type BillingVendor, billedPrice } from './billing-vendor.ts';

/** What both lanes of a judged benchmark are called: that of the model, and that of its judge. */
export interface JudgedLanes {
  readonly model: string;
  readonly judge: string;
}

/** A benchmark whose answers a judge on another lane grades; `q0`, `q1` and so on. */
export function judgedFiles(
  vendors: {
    readonly model: Pick<BillingVendor, 'url'>;
    readonly judge: Pick<BillingVendor, 'url'>;
  },
  {
    count,
    lanes: { model, judge } = { model: 'lab', judge: 'court' },
    top = '',
    judgeLane = '',
  }: {
    readonly count: number;
    /** @default `lab` and `court` */
    readonly lanes?: JudgedLanes;
    /** Lines at the top of the spec, and in the table of the judge's lane. @default none */
    readonly top?: string;
    readonly judgeLane?: string;
  },
): Readonly<Record<'judged.toml' | 'questions.jsonl', string>> {
  const rows = Array.from({ length: count }, (_, index) => ({
    id: `q${index}`,
    question: `What is ${index} and what is missing to 42?`,
    target: '42',
  }));
  return {
    'judged.toml': `questions = "questions.jsonl"
${top}
[lanes.${model}]
base_url = "${vendors.model.url}"
[lanes.${judge}]
base_url = "${vendors.judge.url}"
${judgeLane}
[scorers.quality]
kind = "judge"
model = "${judge}/judge"
max_tokens = 100
[[configs]]
name = "a"
model = "${model}/m"
scorer = "quality"
max_tokens = 100
${billedPrice(`${model}/m`)}${billedPrice(`${judge}/judge`)}`,
    'questions.jsonl': rows.map((row) => `${JSON.stringify(row)}\n`).join(''),
  };
}
