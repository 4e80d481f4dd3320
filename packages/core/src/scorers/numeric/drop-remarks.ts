/** How a sentence begins that speaks of an answer instead of giving it. */
const OPENINGS = [
  'note\\s?:|nb\\b|p\\.?s\\.|keep in mind|please\\b|source\\s?:|for reference',
  '(?:please )?note that (?:this|these|the (?:actual|exact))',
  "it(?:'s| is) (?:important|worth)",
  '(?:i )?hope (?:this|that|it)|let me know|feel free',
  'if you (?:have|need|want|would like) (?:any|more|further|help|another|me)\\b',
  "to (?:double[- ]?check|check|verify|confirm)\\b|(?:let's|let us|we can) (?:double[- ]?check|check|verify)",
  '(?:check|double[- ]?check|verification|verify|checking)\\s?:',
  'this is (?:because|calculated|based|due)',
  'this (?:number|estimate|figure) (?:may|can|could|might|is (?:expected|likely|based|an? (?:estimate|approximation)))',
  'however, (?:this|these|it) (?:is (?:just|only|not|an?)|may|can|does|calculation|estimate|number)',
  'for (?:example|instance)\\b',
];
const REMARK = new RegExp(String.raw`^[\s(*_#]{0,12}(?:${OPENINGS.join('|')})`, 'i');

/** Returns whether a sentence is a check, a note or small talk, so that its numbers are no answer. */
export function isRemark(sentence: string): boolean {
  return REMARK.test(sentence);
}

/** A model that says at once that it does not answer. */
const REFUSAL = new RegExp(
  [
    String.raw`^\s{0,20}(?:(?:(?:i'm|i am) (?:very |really |so )?sorry|sorry|i apologi[sz]e|unfortunately|as an ai)\b[^.!?\n]{0,120}?)?`,
    String.raw`\bi(?:'m| am)? (?:can(?:no|')t|can not|unable|not able|won't|do not|don't)\b`,
  ].join(''),
  'i',
);
/** What shows that there is an answer all the same. */
const RESULT =
  /=|\b(?:so|therefore|thus|hence|approximately|roughly|estimate[sd]?)\b[^.\n]{0,200}\d/i;

/** Returns whether a text refuses an answer and computes none. */
export function isRefusal(text: string): boolean {
  return REFUSAL.test(text) && !RESULT.test(text);
}
