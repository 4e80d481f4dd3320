import * as z from 'zod';
import { scored, ungraded, unparsed } from '../domain/grade.ts';
import type { AnswerScorer, AnswerText } from '../domain/scorer.ts';
import { controlMetrics, leadsOf } from './controls.ts';
import { findJson, toJsonText } from './json/find-json.ts';
import { countCitations } from './keyword/count-citations.ts';
import {
  type CitingAnswer,
  type KeywordRubric,
  RIGHT_FROM,
  readKeywordRubric,
  scoreKeywords,
} from './keyword/keyword-score.ts';
import { parseSparkitObject, readSparkitAnswer } from './sparkit/read-sparkit-answer.ts';
import { sparkitParserShape } from './sparkit/sparkit-parser.ts';

const parameters = z.strictObject(sparkitParserShape);

/**
 * Scores how many keywords of its question an answer names, and how many sources it cites.
 *
 * It reads the text, or the field `answer_text` of an answer in JSON, and counts the citations in the text, or the field
 * `citations`. With `parser = "sparkit"` it reads as SPARKIT does, which counts no citations in a text.
 */
export const keyword: AnswerScorer<typeof parameters> = {
  kind: 'keyword',
  reads: 'answer',
  version: 2,
  parameters,
  needsTable: false,
  isTargetOptional: true,
  metrics: [
    { name: 'keyword_coverage', unit: 'ratio', better: 'higher', range: [0, 1] },
    { name: 'citation_score', unit: 'ratio', better: 'higher', range: [0, 1] },
    { name: 'citations', unit: 'citations', better: 'none', range: [0, Number.POSITIVE_INFINITY] },
    { name: 'right', unit: 'ratio', better: 'higher', range: [0, 1] },
    ...controlMetrics,
  ],
  grade: (answer, question, { parser }) => {
    const rubric = readKeywordRubric(question);
    if (rubric === undefined || (isEmpty(rubric) && parser === undefined))
      return ungraded('no-keywords');
    const read = parser === 'sparkit' ? readSparkitCitations(answer.text) : readCitations(answer);
    if (read === undefined) return unparsed(answer.isCutOff ? 'cut-off' : 'no-answer');
    const { keywordCoverage, citationScore, total } = scoreKeywords(read, rubric);
    const leads = leadsOf(total, ({ text, citationCount }) => {
      const control = { text: text(question), citationCount };
      return scoreKeywords(control, rubric).total;
    });
    return {
      ...scored(total, read.text),
      metrics: {
        keyword_coverage: keywordCoverage,
        citation_score: citationScore,
        citations: read.citationCount,
        right: Number(total >= RIGHT_FROM),
        ...leads,
      },
    };
  },
  describeExpectedTarget: () => undefined,
};

/** Without keywords, every answer names them all. */
function isEmpty({ required, optional }: KeywordRubric): boolean {
  return required.length === 0 && optional.length === 0;
}

/** What SPARKIT scores: the service that asks the models lists their citations, and direct calls have none. */
function readSparkitCitations(text: string): CitingAnswer {
  const { citations } = parseSparkitObject(text) ?? {};
  const citationCount = Array.isArray(citations) ? citations.length : 0;
  return { text: readSparkitAnswer(text).text, citationCount };
}

const answerSchema = z.object({
  answer_text: z.union([z.string(), z.number()]).transform((value) => String(value).trim()),
  citations: z.array(z.unknown()).optional(),
});
/** The beginning of an answer in JSON. */
const OBJECT = /^\s*(?:```\w*\s*)?\{\s*"answer_text"/u;

/** Undefined for JSON that ends too early. */
function readCitations({ text }: AnswerText): CitingAnswer | undefined {
  const { data } = answerSchema.safeParse(findJson(text)?.value);
  if (data === undefined)
    return OBJECT.test(text) ? undefined : { text, citationCount: countCitations(text) };
  const { answer_text: answer, citations } = data;
  const listed = citations && new Set(citations.map(toJsonText)).size;
  return { text: answer, citationCount: listed ?? countCitations(answer) };
}
