import { lastMatches } from '../last-matches.ts';
import { anyOf } from './alternatives.ts';
import { readPayload } from './read-payload.ts';
import { agree, type ChoiceReading } from './reading.ts';

/** A letter of its own, with what may stand between it and its verb: `(B)`, `C (14 symbols)`. */
const LETTER = String.raw`(?<![\p{Script=Latin}\p{Script=Cyrillic}\p{N}'’\-/_.])(?<letter>[A-Z])[)\]"'”’]{0,2}(?:\s?[:,]?\s?\([^()\n]{1,80}\))?`;
const ADVERBS = `(?:${anyOf(String.raw`
  the | (?:most )?\p{Ll}{2,12}ly | indeed | therefore | thus | also | by far
`)},?\\s)*`;
const PRAISE = anyOf(`
  correct | right | best | final | likely | accurate | appropriate | suitable | plausible | probable | proper
  logical | only | supported
`);
const ANSWER = 'answer | option | choice | response | one | statement | explanation | diagnosis';
const IS =
  "\\s(?:is|['’]s|would be|must be|should be|seems|seems to be|appears|appears to be|looks|remains)\\s";

/** "B is the correct answer": a letter and what is said of it. */
const NAMED = new RegExp(
  `${LETTER}${IS}${ADVERBS}(?:(?:(?:single |one |most )?${PRAISE}\\s){1,3}${anyOf(ANSWER)}|my (?:final )?(?:answer|choice)|the answer|the one)(?!\\p{L})`,
  'gu',
);
/** "B is correct" and its like in other languages. */
const CORRECT = new RegExp(
  `${LETTER}${anyOf(String.raw`
    ${IS}${ADVERBS}(?:correct|right|best|true|valid|accurate|appropriate)
    ${IS}${ADVERBS}(?:the )?most (?:likely|appropriate|accurate|suitable|plausible|probable|reasonable|consistent)
    \s(?:fits|matches|describes|represents|answers|explains) (?:best|perfectly)
    \sbest (?:fits|matches|describes|represents|answers|explains|captures)
    \s(?:ist )?(?:die )?(?:richtig|korrekt|beste)\p{L}{0,2}
    \sest (?:la (?:bonne |meilleure )?réponse|correcte?|exacte?|juste|vraie?)
    \ses (?:la (?:respuesta|opci[óo]n|correcta)|correcta?)
    \sè (?:la risposta|l['’]opzione|corretta?|giusta?)
    \s(?:é|está) (?:a (?:resposta|alternativa|opção)|corret[ao]|cert[ao])
    \s?(?:—|–|-|является|— это)?\s(?:правильн|верн)\p{L}{1,3}
    \s?(?:选项|项)?\s?(?:是|为)?(?:正确|对的|最佳|最合适|最恰当)
    \s?(?:が|は)(?:正解|正しい|最も適切) | \s?を(?:選|選択)
    \s?(?:가|이|는|은)\s?(?:정답|맞|옳|올바른) | \s?(?:을|를)\s?(?:선택|고르)
    \s(?:هو|هي) (?:ال[إا]جابة الصحيحة|الصحيح|الصحيحة)
  `)}(?!\\p{Script=Latin})`,
  'gu',
);

const AUXILIARIES = `(?: ${anyOf(String.raw`
  would | will | am | should | must | have to | can | do | still | just | now | going to
  \p{Ll}{2,12}ly
`)})*`;
const CHOOSE = anyOf(`
  choose | chose | pick | picked | select | selected | go(?:ing)? with | went with
  opt(?:ing)? for | say | answer | vote for | settl(?:e|ing) on | conclude | guess | prefer | recommend | suggest
  lean(?:ing)? towards? | stick(?:ing)? with | think | believe | suspect | mean | meant
`);
const THAT = anyOf(`
  that | it is | it['’]s | it must be | it should be
  the (?:correct |best |right )?(?:answer|option|choice) (?:is|would be|should be)
`);
/** "I'd pick B", "so I choose option B", "I think it's B". */
const CHOSEN = new RegExp(
  anyOf(String.raw`
    (?<!\p{L})(?:I|[Ww]e|[Ll]et['’]s|[Ll]et us)(?:['’](?:d|ll|m|ve|re))?${AUXILIARIES} ${CHOOSE}(?: ${THAT})*:?(?=\s)
    (?<!\p{L})(?:and|so|then|therefore|thus|hence) (?:choose|pick|select|go with)(?=\s)
    (?<!\p{L})(?:[Cc]hoosing|[Pp]icking|[Ss]electing)(?=\s)
    (?<!\p{L})(?:[Ii]ch (?:wähle|nehme|entscheide mich für)|[Jj]e (?:choisis|choisirais|sélectionne))(?=\s)
    (?<!\p{L})(?:[Ee]lijo|[Ee]scojo|[Ss]elecciono|[Ss]celgo|[Ee]scolho|[Вв]ыбираю)(?=\s)
  `),
  'gu',
);
/** "Therefore, B.", "that leaves D", "not B but C", "rather C". */
const CONCLUDED = new RegExp(
  `(?<!\\p{L})${anyOf(`
    therefore | thus | hence | consequently | so | ergo | finally | conclusion
    in summary | leaves | leaving | narrows (?:it )?down to | (?:most )?likely | probably
    definitely | not [(]?[A-Z][)]?,? but(?: rather)? | rather | instead | it is | it['’]s
    must be
    daher | also | folglich | donc | por lo tanto | portanto | quindi | таким образом
  `)}(?: (?:us|only|with|me|just))*[,:]?(?=\\s)|[∴→⇒]|[=-]>`,
  'giu',
);
/** What a conclusion leads to ends there: "so B." is one, "so A is positive" is not. */
const SENTENCE_END =
  /^\s?(?:$|[.;!\n。]|,\s(?:not|because|since|as|which|and not)|because|since|as the|\()/u;

/** "This corresponds to option (E)", "our choice is option C", but not "consider option C". */
const REFERENCE =
  /(?<!\p{L})(?:(?:correspond|point)(?:s|ing)? to|match(?:es|ing)?|is)(?: the| answer){0,2}:?(?= (?:option|choice|answer|letter) [(]?(?:[A-Z](?!\p{L})|[a-z](?=[).,;]|$)))/gmu;
/** What makes a letter right in another case only: "A if she were pregnant", "A only for adults". */
const CONDITION = /^\s?(?:only|if|when|unless|were)(?!\p{L})/u;

/** What comes before a letter that is only supposed: "if B is correct", "I don't think option B is". */
const HYPOTHESIS = new RegExp(
  `${anyOf(String.raw`
    (?<!\p{L})(?:if|whether|suppose|assuming|unless|though|although|while)(?: that| only| the)?
    (?<!\p{L})(?:not|never|nor|neither|doubt)(?: think| believe| say| sure| mean)?(?: that| if| whether)?
    n['’]t(?: think| believe| say| sure| mean)?(?: that| if| whether)?
  `)}(?: option| choice| answer| the answer| statement)?\\s*[(["']?$`,
  'iu',
);
/** What comes before a letter at the end: "it must be B", but not "vitamin C". */
const LEADS_TO_LETTER =
  /(?:^|[.!?;:,\n–—-]|[→⇒∴]|->|=>|(?<!\p{L}|(?<!\p{L})[A-Z]\s)(?:is|['’]s|be|was|ist|est|es|è|é|choose|pick|select|answer|so|therefore|thus|hence|leaving|leaves))\s*$/iu;
const TRAILING = /(?<enclosed>[([]?)["'“]?(?<letter>[A-Z])["'”]?[)\]]?[.!。]?\s*$/u;
const DENIAL =
  /(?<!\p{L})(?:not|never|nor|neither|except|eliminate|rules? out|exclude|wrong|incorrect|if|whether)(?!\p{L})|n['’]t(?!\p{L})/iu;

/** Matches looked at, from the end of the text. */
const MAX_MATCHES = 200;

/** Reads what is said of a letter: "B is the correct answer", else "B is correct". */
export function readPraised(text: string): ChoiceReading | undefined {
  return readNamed(text, NAMED) ?? readNamed(text, CORRECT);
}

/** Reads the letter that the text chooses or concludes with: "I'd pick B", "which leaves D". The last one wins. */
export function readChosen(text: string, choices: readonly string[]): ChoiceReading | undefined {
  return (
    readAfter(text, choices, { pattern: CHOSEN, isComplete: isUnconditional }) ??
    readAfter(text, choices, { pattern: CONCLUDED, isComplete: endsSentence }) ??
    readAfter(text, choices, { pattern: REFERENCE, isComplete: endsSentence })
  );
}

/** Reads the letter at the very end of the text: "..., so it must be B". */
export function readTrailing(text: string): ChoiceReading | undefined {
  const end = text.trimEnd();
  const tail = end.slice(-120);
  const match = TRAILING.exec(tail);
  if (match === null || /[\p{L}\p{N}_'’^\\-]$/u.test(tail.slice(0, match.index))) return undefined;
  const before = tail.slice(0, match.index);
  const isEnclosed = match.groups?.['enclosed'] !== '';
  const sentence = before.slice(before.search(/[^.!?\n]*$/u));
  if (DENIAL.test(sentence) || (!isEnclosed && !LEADS_TO_LETTER.test(before))) return undefined;
  if (/[A-Z][)\]]?\s?(?:,|\/|&|\+|(?<!\p{L})(?:and|or|y|e|ou|und))\s*$/u.test(before))
    return { letter: null };
  return { letter: match.groups?.['letter'] ?? null };
}

function readNamed(text: string, pattern: RegExp): ChoiceReading | undefined {
  const readings: { readonly letter: string | null }[] = [];
  for (const { index, 0: match, groups } of lastMatches(text, pattern, MAX_MATCHES)) {
    const before = text.slice(Math.max(0, index - 40), index);
    const after = text.slice(index + match.length, index + match.length + 20);
    if (HYPOTHESIS.test(before) || /^\s?\?/u.test(after) || CONDITION.test(after)) continue;
    readings.push({ letter: groups?.['letter'] ?? null });
  }
  return agree(readings);
}

function readAfter(
  text: string,
  choices: readonly string[],
  { pattern, isComplete }: Lead,
): ChoiceReading | undefined {
  for (const { index, 0: match } of lastMatches(text, pattern, MAX_MATCHES).reverse()) {
    const reading = readPayload(text, index + match.length, choices);
    if (reading !== undefined && isComplete(text, reading.end)) return { letter: reading.letter };
  }
  return undefined;
}

/** What leads to a letter, and whether what follows the letter lets it count. */
interface Lead {
  readonly pattern: RegExp;
  readonly isComplete: (text: string, end: number) => boolean;
}

function endsSentence(text: string, end: number): boolean {
  return SENTENCE_END.test(text.slice(end, end + 20));
}

function isUnconditional(text: string, end: number): boolean {
  return !CONDITION.test(text.slice(end, end + 20));
}
