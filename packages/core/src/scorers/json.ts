import * as z from 'zod';
import { type Grade, scored, ungraded, unparsed } from '../domain/grade.ts';
import type { AnswerScorer } from '../domain/scorer.ts';
import { describeEmptyTarget } from './describe-empty-target.ts';
import { isEqualJson, shareOfEqual } from './json/compare-json.ts';
import { findJson, parseJson, toJsonText } from './json/find-json.ts';
import { followPointer, POINTER } from './json/json-pointer.ts';
import { fulfils, jsonSchemaSchema } from './json/json-schema.ts';

const parameters = z.strictObject({
  /** What the JSON of an answer has to fulfil; anything if it is left out. */
  schema: jsonSchemaSchema.optional(),
  /** Where in the JSON the value is that is compared with the target. */
  pointer: z
    .string()
    .regex(POINTER, 'expected a JSON Pointer, as in "/answer" or "/results/0/value"')
    .default(''),
  /** `equal` for right or wrong; `fields` for the share of the target's fields that are equal. */
  compare: z.enum(['equal', 'fields'], { error: 'expected "equal" or "fields"' }).default('equal'),
});

/** Scores the JSON of an answer: by a schema, by a comparison with the target, or both. */
export const json: AnswerScorer<typeof parameters> = {
  kind: 'json',
  reads: 'answer',
  version: 1,
  parameters,
  needsTable: false,
  isTargetOptional: true,
  metrics: [
    { name: 'schema_valid', unit: 'ratio', better: 'higher', range: [0, 1] },
    { name: 'equal_fields', unit: 'ratio', better: 'higher', range: [0, 1] },
  ],
  grade: ({ text, isCutOff }, { target }, { schema, pointer, compare }) => {
    if (target === null && schema === undefined) return ungraded('no-target', text);
    const found = findJson(text);
    if (found === undefined) return unparsed(isCutOff ? 'cut-off' : 'no-json');
    const isValid = schema === undefined || fulfils(found.value, schema);
    const value = followPointer(found.value, pointer);
    const shares = (target ?? []).map((each) => shareOfTarget(value, each));
    const share = target === null ? null : Math.max(0, ...shares);
    const metrics = {
      schema_valid: schema === undefined ? null : Number(isValid),
      equal_fields: share,
    };
    const grade: Grade =
      value === undefined
        ? unparsed('no-value', toJsonText(found.value))
        : scored(isValid ? scoreOf(share, compare) : 0, showValue(value));
    return { ...grade, metrics };
  },
  describeExpectedTarget: describeEmptyTarget,
};

/** @param share - Null where the schema alone counts. */
function scoreOf(share: number | null, compare: 'equal' | 'fields'): number {
  if (share === null) return 1;
  return compare === 'fields' ? share : Math.floor(share);
}

/** A target is JSON, or a text as it is: `42` also accepts "42". */
function shareOfTarget(value: unknown, target: string): number {
  if (value === undefined) return 0;
  if (isEqualJson(value, target.trim())) return 1;
  const parsed = parseJson(target);
  return parsed === undefined ? 0 : shareOfEqual(value, parsed.value);
}

function showValue(value: unknown): string {
  return typeof value === 'string' ? value : toJsonText(value);
}
