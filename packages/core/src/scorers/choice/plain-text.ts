/** "✅ Answer: B". */
const PICTURE = /\p{Extended_Pictographic}[\ufe0f\u200d]?/gu;
const INVISIBLE = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;
/** Tokens of chat templates that some servers leave in the text, and those of GAOKAO-Bench's prompt. */
const CHAT_TOKEN = /<\|[a-z_]{1,30}\|>|<eo[a-z]>|<\/?s>|\[\/?INST\]/giu;
const ANSWER_TAG = /<(\/?)(?:final_?)?(?:answer|ans|output|response|solution|choice|option)>/giu;
/** What joins two answers of which neither is meant alone: "<answer>C</answer> or <answer>B</answer>". */
const JOINED = String.raw`\s{0,9}(,?\s{0,9}(?:and|or)|[,/&])\s{0,9}`;
const JOINED_TAGS = new RegExp(
  `</(answer|ans|choice|option)>${JOINED}<\\1>(?=[^<>]{1,40}</)`,
  'giu',
);
const JOINED_BOXES = new RegExp(
  String.raw`(?<=\\boxed\{\s?[A-Z]\s?)\}${JOINED}\\boxed\{(?=\s?[A-Z]\s?\})`,
  'gu',
);
const LATEX_STYLE =
  /\\(?:text(?:bf|it|rm|tt|sf)?|math(?:bf|rm|it|sf)|boldsymbol|bf|rm|emph)\s?\{([^{}]{0,300})\}/gu;
const LATEX_MARK = /\\[()[\],;! ]|\$/gu;
const EMPHASIS = /\*|`|~~|(?<![\p{L}\p{N}])_+|_+(?![\p{L}\p{N}])/gu;
const LINE_MARK = /^[ \t]*(?:#{1,6}|>)[ \t]*/gmu;
/** "Work. #### C". */
const HASHES = /#{4}[ \t]{0,3}(?=[([]?[A-Z][)\]]?\.?[ \t]{0,9}$)/gmu;
/** "【答案】 D". */
const BRACKETED_LABEL = /【([^【】\n]{2,20})】\s?:?/gu;
/** All but circled numerals, which are choices: ③ would become 3. */
const TO_NORMALIZE = /[^①-⑩]+/gu;
/** Text of one line break each, without carriage returns. */
const LINE_BREAK = /\r\n?|\u2028|\u2029/gu;

/**
 * Removes what only decorates a text, so that the rules meet `B` whether the model wrote `**B**`,
 * `$\text{B}$`, `（Ｂ）` or `<answer>B</answer>`. A tag becomes the label "Answer:". `\boxed{}` stays.
 */
export function toPlainText(text: string): string {
  const plain = text
    .replace(TO_NORMALIZE, (part) => part.normalize('NFKC'))
    .replace(LINE_BREAK, '\n')
    .replace(PICTURE, '')
    .replace(INVISIBLE, '')
    .replace(CHAT_TOKEN, '')
    .replace(JOINED_TAGS, ' $2 ')
    .replace(ANSWER_TAG, (_, slash: string) => (slash === '' ? '\nAnswer: ' : '\n'))
    .replace(BRACKETED_LABEL, '\n$1: ')
    .replace(LATEX_MARK, '')
    .replace(EMPHASIS, '')
    .replace(HASHES, '\nAnswer: ')
    .replace(LINE_MARK, '');
  // Twice, for a style within a style.
  return plain.replace(LATEX_STYLE, '$1').replace(LATEX_STYLE, '$1').replace(JOINED_BOXES, ' $1 ');
}
