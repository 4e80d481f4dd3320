/** What follows repeats the request, as far as it was readable. The words themselves are the vendor's. */
const ECHO_BEGINS =
  /\b(?:failed to parse|(?:could not|couldn['’]t|cannot|can['’]t|unable to) (?:parse|decode)|error parsing|passed in|input_value=)|['"](?:input|inputs|prompt|messages|content|arguments)['"]\s{0,4}:/i;

/**
 * Quoted spans. An apostrophe inside a word opens and closes nothing, and a span without its end is none, so that a
 * stray mark takes nothing away. Google quotes the names of quotas, which are sentences of their own.
 */
const QUOTED = [
  /(?<!\w|\b(?:limit|metric) )'(?:[^'\n]|(?<=\w)'(?=\w))*'(?!\w)/g,
  /"[^"\n]*"/g,
  /“[^“”\n]*”/g,
  /(?<!\w)`[^`\n]*`(?!\w)/g,
];

/**
 * Returns what a vendor says itself: an error's text without what it repeats of the request.
 *
 * A prompt may contain the words of any error. Quoted names of models and parameters stay: they are one word or two.
 */
export function withoutEcho(text: string): string {
  const said = cutEcho(text).trim();
  return QUOTED.reduce(
    (rest, quoted) =>
      rest.replace(quoted, (span) =>
        span.length === said.length || !isSentence(span) ? span : '""',
      ),
    said,
  );
}

/** Cuts off what follows words that announce a part of the request. */
export function cutEcho(text: string): string {
  const echo = ECHO_BEGINS.exec(text);
  return echo === null ? text : text.slice(0, echo.index + echo[0].length);
}

function isSentence(span: string): boolean {
  return /\S\s+\S+\s+\S/.test(span);
}
