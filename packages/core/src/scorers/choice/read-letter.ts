import { choiceLetter } from '../../domain/choices.ts';
import { anyOf } from './alternatives.ts';
import type { ChoiceReading } from './reading.ts';

/**
 * Letters of an Arabic or a Cyrillic list, and the Cyrillic С, which looks like a Latin C.
 *
 * @see https://github.com/openai/simple-evals/blob/main/common.py (`normalize_extracted_answer`)
 * @see https://github.com/MERA-Evaluation/MERA/pull/39 (А, Б, В, Г)
 */
const SAME_LETTER: Readonly<Record<string, string>> = {
  ...{ أ: 'A', ا: 'A', ب: 'B', ج: 'C', د: 'D' },
  ...{ А: 'A', Б: 'B', Г: 'D', Д: 'E', С: 'C' },
};
/** Korean, Japanese and Chinese exams number their choices so. */
const CIRCLED = '①②③④⑤⑥⑦⑧⑨⑩';
/** Third in a Cyrillic list, but a typist's Latin B. */
const AMBIGUOUS = 'В';
const LETTER = `[A-Za-zأابجدАБВГДС${CIRCLED}]`;
/** Words of which the letter may be a part, on either side of it. Han, kana and Hangul need no space. */
const WORD = String.raw`\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Arabic}\p{N}_`;
const OPENING = String.raw`(?:[\s"'“”‘’«»「『【〔([{<:：]|\\boxed|->|=>|→|⇒|-|–|—)`;
/** Words between a statement and its letter: "option B", "la letra B", "die Antwort B". */
const NOUN = anyOf(String.raw`
  answer | (?:l['’])?options? | choice | letter | statement
  letra | opci[óo]n | opção | lettre | lettera | proposition | (?:l['’])?(?:alternativa|opzione)
  buchstabe | вариант | буква
  选项 | 選項 | 选择 | 選択肢 | 선택지 | 보기 | الخيار | الحرف
  the | la | le | el | l['’] | die | der | das | a(?= (?:letra|alternativa|opção|[A-Z](?!\p{L})))
`);
/** "is therefore B", "is most likely B". */
const ADVERB = anyOf(String.raw`
  (?:most )?\p{Ll}{2,12}ly | therefore | then | indeed | just | still | now | in fact
  somit | por tanto | entonces | logo | значит
`);
const START = new RegExp(
  `^${OPENING}{0,12}(?:(?:${ADVERB}|${NOUN})${OPENING}{1,6}){0,4}(?:${NOUN}${OPENING}{0,6})?(?<letter>${LETTER})`,
  'iu',
);
const CLOSING = /^\s?["'”’»」』】〕)\]}>]{1,6}/u;
const OPENED = /[([{【〔「『<]\s*$/u;
const AND = anyOf(`
  and | or | und | oder | et | ou | y | o | e | и | или | 和 | 或 | 及 | と | および | または | 또는 | 와 | 과
`);
/** A letter and a second one: "A or B", "A/B", "A, C", "A and B are". */
const SECOND = new RegExp(
  `^\\s?(?:[,;/|&+、]|(?:,\\s?)?${AND})\\s?(?:and |or |& )?(?:option |choice )?["'([]?(?<second>[A-Z])(?=["')\\]]?(?:\\s?[.,;/|&!?\\n)\\]、的都均]|\\s+(?:and|or|are|both)(?![${WORD}])|\\s*$))`,
  'u',
);
/** What follows a letter that is denied: "B is wrong". */
const DENIED = new RegExp(
  `^["')\\]]?,?\\s?${anyOf(String.raw`
    (?:is|are|was|can|could|does|do|would)(?:n['’]t| ?not)
    (?:is|are|was|seems|looks|must be)(?: \p{L}+ly| also| thus| just)? (?:not|in(?:correct|valid|accurate)|wrong|false)
    (?:is|are|was|seems|looks|can be|must be)(?: \p{L}+ly)? (?:unlikely|im\p{L}+ible|ruled out|eliminated|excluded|out)(?!\p{L})
    (?:ist|wäre) (?:nicht|falsch) | n['’]est | est (?:fausse?|incorrecte?) | no es | es (?:incorrecta?|falsa?)
    non è | è (?:sbagliata?|errata?|falsa?) | não (?:é|está) | (?:é|está) (?:incorreta?|errada?|falsa?)
    не\s | неверн | неправильн | (?:可能|应该|应)?(?:是|为)?(?:错|不正确|不对|不是|不符) | 選項?不
    [^.!?;\n]{0,80}, (?:which|but (?:it|this|that)) is (?:incorrect|wrong|not (?:the )?(?:correct|right))
    ではな | ではあり | じゃな | は(?:誤|不正解|間違) | (?:가|이|는|은)?\s?(?:아니|아닙|틀) | ليس | خطأ
  `)}`,
  'iu',
);
const PART_OF_WORD = new RegExp(
  String.raw`^(?:['’][\p{L}]|[${WORD}^\\#%°′]|-\p{L}|\.\p{L}\.|\.\d|\+\+)`,
  'u',
);
const FORMULA = /^\s?(?:[=<>≈≠≤≥^×·÷]|[+*]\s?[\p{L}\p{N}]|[-−]\s?\d)/u;
const NEXT_WORD = /^[^\S\n]+["'([]?(?<word>[\p{L}]+)/u;
/** Letters that are words of their own before another word, in one language or another. */
const WORD_LETTERS = /^[AIEOYUSKCАВС]$/iu;
/** Words after which even "A" is a letter: "the answer is A because". */
const CONNECTIVE = new RegExp(
  `^${anyOf(`
    because | since | as | due | given | for | with | which | where | based | from | and | but | instead | rather
    not | or | is | was | so | then | therefore | per | according | if | when
    weil | denn | da | car | parce | porque | pues | ya | perché | poiché | pois | так | потому | поскольку | no
  `)}$`,
  'iu',
);

/** How far into a text a letter is looked for, and how much after it is taken into account. */
const WINDOW = 240;

/**
 * Reads the letter that a text starts with at an index, after opening marks and words such as "option".
 *
 * @returns Undefined unless a letter of a choice stands there: not an article, a pronoun, a part of a word or a
 *   formula, and not denied right after ("B is wrong"). Null where a second letter follows ("A or B").
 */
export function readLetter(
  text: string,
  index = 0,
): (ChoiceReading & { readonly end: number }) | undefined {
  const window = text.slice(index, index + WINDOW);
  const match = START.exec(window);
  const written = match?.groups?.['letter'];
  if (match === null || written === undefined) return undefined;
  const before = window.slice(0, match[0].length - written.length);
  const after = window.slice(match[0].length);
  const closing = CLOSING.exec(after)?.[0] ?? '';
  const isEnclosed = OPENED.test(before) && closing !== '';
  if (PART_OF_WORD.test(after)) return undefined;
  const rest = after.slice(closing.length);
  const letter = written === AMBIGUOUS ? null : toLatin(written);
  const end = index + match[0].length + closing.length;
  const second = SECOND.exec(rest)?.groups?.['second'];
  if (second !== undefined && second !== letter) return { letter: null, end };
  if (/^\s?\?/u.test(rest) || FORMULA.test(rest) || DENIED.test(rest)) return undefined;
  return isEnclosed || !isWord(written, after) ? { letter, end } : undefined;
}

/** Whether a letter is a word of the sentence: "a careful reading", "I think", but not "A because". */
function isWord(written: string, after: string): boolean {
  const word = NEXT_WORD.exec(after)?.groups?.['word'];
  if (word === undefined) return false;
  const isLowerCase = written !== written.toUpperCase();
  return (isLowerCase || WORD_LETTERS.test(written)) && !CONNECTIVE.test(word);
}

function toLatin(letter: string): string {
  const circledIndex = CIRCLED.indexOf(letter);
  if (circledIndex !== -1) return choiceLetter(circledIndex);
  const upper = letter.toUpperCase();
  return SAME_LETTER[upper] ?? upper;
}
