/** Bounded, and only from its first digit on: a long run of digits must not be tried from each of them. */
const VALUE = String.raw`[$€£]?-?(?<![\d.,])\d{1,20}(?:[.,]\d{1,20}){0,6}[ ]?%?`;
const CONFIDENCE_NOUN =
  'confidence|certainty|Konfidenz|Sicherheit|confianza|confiança|confiance|fiducia|уверенность|置信度|信心|確信度|신뢰도|확신도';
/** A cheap check whether any of the patterns below can match. */
const IS_CONFIDENT = new RegExp(`confident|certain|sure|${CONFIDENCE_NOUN}`, 'iu');
const CONFIDENCES = [
  String.raw`\b(?:with |at )?(?:a )?${VALUE}[ ]?(?:confiden(?:ce|t)|certain(?:ty)?|sure)\b(?! interval)`,
  String.raw`(?<!\p{L})(?:${CONFIDENCE_NOUN})["']?(?: (?:level|score|rating|in (?:this|my|the) answer))?[ ]?(?:\([^()\n]{0,40}\))?[ ]{0,3}(?:is|of|at|ist|es|est)?[ ]?[:=≈~–-]?["'\s]{0,3}(?:about |approximately |around |roughly |(?:very )?(?:high|low|medium|moderate)[ ]?\(?)?${VALUE}(?:[ ]?(?:\/|out of)[ ]?\d+)?`,
  String.raw`\b(?:confident|sure|certain)\b[^.\n\d]{0,20}\d+(?:\.\d+)?[ ]?%`,
].map((pattern) => new RegExp(pattern, 'giu'));
const TOTAL = new RegExp(
  String.raw`\b(?:out of|von insgesamt|sur un total de|de un total de)(?: an?| the| all)?(?: total| possible)?(?: of)? ${VALUE}`,
  'giu',
);
const REJECTED = new RegExp(
  String.raw`(?:\b(?:not|instead of|rather than|as opposed to|statt|nicht|plutôt que|en lugar de)|n't|\b(?:previously|earlier|originally|initially|mistakenly) (?:said|stated|wrote|answered|gave)) (?:equal to |x = )?${VALUE}(?!\d)`,
  'giu',
);

/** To how many places a number is rounded. */
const ROUNDING =
  /\b(?:rounded |accurate |correct )?to (?:the nearest \d{1,6}\b|\d{1,2} (?:decimal|significant|d\.?p\b|s\.?f\b|sig)[a-z.]{0,6}(?: (?:places?|figures?|digits?))?)/gi;

/** The error of a measurement: "42 ± 0.5". */
const MARGIN = /±(?<=\d[ $%]{0,3}±)[ $]{0,3}\d{1,20}(?:[.,]\d{1,20}){0,6}(?! ?[√\d])/g;

/**
 * Removes the numbers that a text gives beside its answer: how confident the model is, the total in "8 out of
 * 10", the error of "42 ± 0.5", the
 * places that it is rounded to, and what the answer is not, as in "not 41 but 42". Line breaks stay.
 */
export function dropSideNumbers(text: string): string {
  const rest = IS_CONFIDENT.test(text)
    ? CONFIDENCES.reduce((part, pattern) => part.replace(pattern, ' '), text)
    : text;
  return rest
    .replace(TOTAL, ' ')
    .replace(REJECTED, ' ')
    .replace(MARGIN, ' ')
    .replace(ROUNDING, ' ');
}
