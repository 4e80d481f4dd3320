import { findChoice } from './read-choice-text.ts';
import { readLetter } from './read-letter.ts';
import type { PlacedReading, Reading } from './reading.ts';

/**
 * Words for "answer", by language. What a model says of it, up to the copula or colon, may come between.
 *
 * @see https://github.com/openai/simple-evals/blob/main/common.py (`MULTILINGUAL_ANSWER_REGEXES`)
 */
const SPACED_NOUNS = [
  // English. An option or choice alone is no answer: "the option I prefer is".
  String.raw`answers?|ans|option selected|final (?:choice|option|selection|response|decision)|solution(?=\s?:)`,
  '(?:correct|right|best|chosen|selected|preferred|appropriate|suitable|accurate|valid|my|the only|most likely|most plausible|supported) (?:answer choice|option|choice|response|selection|letter|alternative|pick|guess|explanation|conclusion)',
  '(?:correct|incorrect|true|false|right|wrong|supported|inaccurate|accurate) statement',
  // German, Dutch.
  'antwort(?:option|möglichkeit)?|lösung|(?:richtige|korrekte|beste) (?:option|aussage|wahl)|antwoord',
  // French.
  'réponse|(?:bonne|meilleure) (?:option|proposition)|(?:option|proposition) correcte',
  // Spanish, Portuguese, Italian.
  'respuesta|(?:opci[óo]n|alternativa) correcta|resposta|gabarito|(?:opção|alternativa) (?:correta|certa)|risposta|(?:opzione|alternativa) (?:corretta|giusta)',
  // Russian, Ukrainian, Polish, Czech.
  'ответ(?:ом)?|(?:правильный|верный) вариант(?: ответа)?|відповідь|odpowied[źz]|odpověď',
  // Indonesian, Turkish, Vietnamese, Swahili, Yoruba.
  'jawaban(?:nya)?|cevap|yanıt|đáp án|câu trả lời|jibu|ìdáhùn|idahun',
  // Arabic, Persian, Hebrew, Hindi, Bengali, Thai.
  'ال[إا]جابة|[إا]جابة|الجواب|جواب|الخيار الصحيح|الاختيار الصحيح|پاسخ|תשובה|उत्तर|উত্তর|คำตอบ',
];
const JOINED_NOUNS = [
  // Chinese. "Choose" needs no copula: 故选B.
  '(?:最终|正确|最佳)?(?:答案|选项)(?=[^\\n]{0,12}[:：是为選选应])|答案|答(?=\\s?[:：])|答曰|答复|答覆|正確選項',
  '(?<![不别勿能可])(?:故|应|應|所以|因此|本题|我|就|只能)?[选選]择?(?=\\s?[(（「]?[A-ZＡ-Ｚ](?![A-Za-z]))',
  // Japanese, Korean.
  '答え|正解|解答|回答|正しい(?:選択肢|もの)|정답|답변|답|올바른\\s?(?:선택지|보기)|선택',
];
/** A key of a JSON object is left to its own rule. */
const NOUN = new RegExp(
  String.raw`(?<![\p{L}\p{N}])(?:${SPACED_NOUNS.join('|')})(?!\p{L}|"\s?:)|(?:${JOINED_NOUNS.join('|')})`,
  'giu',
);

/** What joins the noun and the letter: a colon, a dash, or "is" in some language. */
const COPULA = new RegExp(
  String.raw`[:=：→⇒]|=>|->|\s[-–—]|^\s?[-–—(]|['’]s(?!\p{L})|(?<!\p{L})(?:` +
    'is|would be|should be|must be|will be|has to be|can only be|could only be|seems to be|appears to be|turns out to be|becomes|remains|' +
    'ist|lautet|wäre|est|serait|es|sería|seria|è|é|sarebbe|jest|je|adalah|ialah|là|är|on|هي|هو|است|है' +
    String.raw`)(?!\p{L})|应该是|應該是|应该?为|应选|应是|是|为|為|选择?|選擇?|は|が|은|는|이|가`,
  'giu',
);
/** "If the answer is B", "I don't think the answer is B", "the wrong answer is B" state nothing. */
const NO_STATEMENT =
  /(?:(?<!\p{L})(?:if|whether|suppose|supposing|assum(?:e|ing)|unless|wrong|incorrect|initial|previous|original|earlier|tentative|sample|example|student['’]?s|user['’]?s)(?: that)?(?: the| my)?(?: correct| right| best| final)?|(?:n['’]t|not|never|nor|doubt)(?: think| believe| say| sure| mean| agree)?(?: that| if| whether)?(?: the| my| an?)?(?: correct| right| best| final)?|不|非|错误的?)\s?$/iu;

/** Nouns looked at, from the end of the text: no text says "answer" more often after its last statement. */
const MAX_NOUNS = 500;
/** How far after its noun the letter of a statement is looked for. */
const STATEMENT_CHARS = 160;
const MAX_PAYLOAD_CHARS = 2000;

/**
 * Finds the last explicit statement of the answer: "Answer: B", "the best answer would be option (B)",
 * "Die richtige Antwort ist B", "故选B", also with the text of a choice in place of its letter.
 */
export function findStatement(text: string, choices: readonly string[]): PlacedReading | undefined {
  const nouns = [...text.matchAll(NOUN)].slice(-MAX_NOUNS).reverse();
  for (const { 0: noun, index } of nouns) {
    if (NO_STATEMENT.test(text.slice(Math.max(0, index - 40), index))) continue;
    const reading = readAfterNoun(text, index + noun.length, choices);
    if (reading !== undefined) return reading;
  }
  return undefined;
}

function readAfterNoun(
  text: string,
  start: number,
  choices: readonly string[],
): PlacedReading | undefined {
  const window = text.slice(start, start + STATEMENT_CHARS);
  const direct = readDirect(text, start);
  if (direct !== undefined) return direct;
  for (const { 0: copula, index } of window.matchAll(COPULA)) {
    if (
      /[.!?;\n]|(?<!\p{L})not(?!\p{L})|n['’]t/iu.test(
        window.slice(0, index).replace(/\([^)]*\)/u, ''),
      )
    )
      break;
    const payloadIndex = start + index + copula.length;
    const reading = readPayload(text, payloadIndex, choices);
    if (reading !== undefined) return { ...reading, index: payloadIndex };
  }
  return undefined;
}

/** The text of a choice may look like several letters: "A and B". */
function readPayload(text: string, index: number, choices: readonly string[]): Reading | undefined {
  const reading = readLetter(text, index);
  return reading?.letter === null || reading === undefined
    ? (readText(text, index, choices) ?? reading)
    : reading;
}

/** A letter right after its noun: "故选B", "Answer (B)", "ANSWER B". */
function readDirect(text: string, start: number): PlacedReading | undefined {
  const direct = /^\s{0,2}[([]?[A-Z](?=[)\]]?\s?(?:$|[.,;\n。，]|[\p{Script=Han}]))/u;
  if (!direct.test(text.slice(start, start + 8))) return undefined;
  const reading = readLetter(text, start);
  return reading && { ...reading, index: start };
}

/** Reads the rest of the line, or the next line if nothing else is on this one, as the text of a choice. */
function readText(
  text: string,
  index: number,
  choices: readonly string[],
): { letter: string } | undefined {
  if (choices.length === 0) return undefined;
  const payload = text.slice(index, index + MAX_PAYLOAD_CHARS).trimStart();
  const [line = ''] = payload.split('\n', 1);
  const [words = ''] = line.split(/[.;(]\s|,\s(?:not|because|since|as|which)\s/u, 1);
  const letter = findChoice(line, choices) ?? findChoice(words, choices);
  return letter === undefined ? undefined : { letter };
}
