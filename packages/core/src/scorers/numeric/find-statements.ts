/** A place where a text says what its answer is. */
export interface Statement {
  readonly kind: 'words' | 'correction' | 'box' | 'hashes' | 'field' | 'tag' | 'reversed';
  /** Where its mark starts, and where it ends. */
  readonly start: number;
  readonly end: number;
  /** Where its clause must end: the next mark, or the end of the text. */
  readonly limit: number;
  /** What the mark says. */
  readonly mark: string;
  /** The copula or the colon that joins a mark of words to its value. */
  readonly link: string;
}

/** "The final answer to question 3 is", "Answer:", "answer =". */
const ENGLISH = String.raw`\b(?:(?:the|my|our)\s)?(?:(?:final|correct|overall|exact|right|numerical|numeric)\s)?(?:answers?|final\s(?:result|value|number|total|count|amount|solution))\b(?:\s(?:to|for|of|in)\s[^.:=?\n]{0,60}?(?=\s?(?:is\b|are\b|was\b|:|=)))?`;
const WESTERN = [
  'Antwort|Lösung|Endergebnis|Ergebnis',
  'réponse(?: finale| correcte)?',
  'respuesta(?: final| correcta)?',
  'risposta(?: finale| corretta)?',
  'resposta(?: final| correta)?',
  '(?:eind)?antwoord',
  'svar(?:et)?',
  'odpowied[źz]|odpověď',
  '(?:son )?cevap|yanıt',
  'jawaban(?:nya)?(?: akhir)?',
  'đáp (?:án|số)|câu trả lời',
  'jibu(?: la mwisho)?',
  'vastaus|válasz|răspuns(?:ul)?',
  'ответ|відповідь|отговор',
].join('|');
const EASTERN =
  '(?:最终|最後的?|正确|最终的|最終)?(?:答案|答え|解答|回答)|(?:최종 ?)?(?:정답|답변|답)|(?:ال)?(?:إجابة|جواب)(?: النهائية?)?|پاسخ|उत्तर|উত্তর|సమాధానం|คำตอบ|விடை|பதில்|ઉત્તર|תשובה';
/** What joins it to its value. */
const LINK = String.raw`(?<link>(?:\s?(?:is|are|was|be|equals|(?:should|must|will|would) be|comes (?:out )?to|turns out to be|therefore|ist|lautet|beträgt|est|es|è|é|jest|to|brzmi|är|er|adalah|ialah|là|ni|равен|равно|это|је|on|है|হল|হলো|คือ|是|为|為|就是|应该是|等于|は|이|은|는|هي|هو|است|=|->|→|[—–-](?=\s)))?\s?[:=]?)`;
const QUOTED_KEY = String.raw`["'](?:final[_ -]?)?(?:answer|result)["']\s{0,5}:\s{0,5}["']?`;

const MARK = new RegExp(
  [
    String.raw`(?<box>\\boxed\b)`,
    String.raw`(?<hashes>^#{4}(?!#)[ \t]{0,3})`,
    `(?<field>${QUOTED_KEY})`,
    '(?<tag><(?:final_?)?answer>)',
    String.raw`(?<reversed>\b(?:is|as|are) (?:thus |therefore )?(?:the|my|our) (?:final |correct )?answers?\b(?!\s?(?:to|is|:)))`,
    `(?<words>(?:${ENGLISH}|(?<!\\p{L})(?:${WESTERN})(?!\\p{L})|${EASTERN}|^(?:A|Ans|Final|Conclusion)(?=\\.?:))\\.?${LINK})`,
    String.raw`(?<correction>\b(?:correction\s?:|(?:should|must) (?:have been|be|read)|I meant?|make that|actually,?(?: it(?:'s| is)| that(?:'s| is)| the (?:total|result|value|number) is)?|wait,?(?: no[,:]?)?(?: it(?:'s| is))?|no, (?:it(?:'s| is))))`,
  ].join('|'),
  'gimu',
);

/** Finds where a text says what its answer is, in order. */
export function findStatements(text: string): readonly Statement[] {
  const found = [...text.matchAll(MARK)].map(({ 0: mark, index, groups }) => ({
    kind: kindOf(groups),
    start: index,
    end: index + mark.length,
    mark,
    link: groups?.['link']?.trim() ?? '',
  }));
  return found.map((statement, index) => ({
    ...statement,
    limit: found[index + 1]?.start ?? text.length,
  }));
}

function kindOf(groups: Readonly<Record<string, string | undefined>> = {}): Statement['kind'] {
  if (groups['box'] !== undefined) return 'box';
  if (groups['hashes'] !== undefined) return 'hashes';
  if (groups['field'] !== undefined) return 'field';
  if (groups['tag'] !== undefined) return 'tag';
  if (groups['reversed'] !== undefined) return 'reversed';
  return groups['words'] === undefined ? 'correction' : 'words';
}
