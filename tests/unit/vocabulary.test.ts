import { describe, expect, it } from 'vitest';
import { type RepositoryFile, readRepository } from '../support/repository-files.ts';

/** A word that the glossary in `docs/architecture.md` replaces. */
interface ReplacedWord {
  readonly word: string;
  readonly instead: string;
  /** A space also matches the line break of a wrapped comment or paragraph. */
  readonly pattern: RegExp;
  /** Uses of the word. */
  readonly planted: readonly string[];
  /** Phrases that use the word in another sense. */
  readonly allowed?: readonly string[];
  /** Files that use the word in another sense only. */
  readonly allowedIn?: readonly string[];
}

const replacedWords: readonly ReplacedWord[] = [
  {
    word: 'letter',
    instead: 'DLQ message',
    pattern: /letter/i,
    planted: [
      'dropLetters(queue)',
      'const letters = [];',
      'lettersOf(scan)',
      'one letter per failed cell',
      'settleLetters(letters)',
      'letterCount',
      'a dead letter',
    ],
    allowed: [
      'dead-letter queue',
      'dead-letter-queue',
      'DeadLetterQueue',
      'deadLetterTargetArn',
      'deadLetterConfig',
      // Names.
      'letters, digits',
      'lower-case letters',
      'plain letters',
      'one wrong letter',
      // Choices A to J.
      'a letter of A to',
      'a single letter',
      'the answer is a letter',
      'the letter that the text settles on',
      'without a letter',
      'the letter, the number or the word',
      // Of a process.
      'state letter',
    ],
    // Choices A to J, and alphabets.
    allowedIn: [
      'examples/quickstart/questions.jsonl',
      'packages/core/src/domain/choices.ts',
      'packages/core/src/scorers/choice.ts',
      'packages/core/src/scorers/choice/boxed.ts',
      'packages/core/src/scorers/choice/corrections.ts',
      'packages/core/src/scorers/choice/json-answer.ts',
      'packages/core/src/scorers/choice/last-matches.ts',
      'packages/core/src/scorers/choice/lines.ts',
      'packages/core/src/scorers/choice/read-choice.ts',
      'packages/core/src/scorers/choice/read-choice-text.ts',
      'packages/core/src/scorers/choice/read-letter.ts',
      'packages/core/src/scorers/choice/read-payload.ts',
      'packages/core/src/scorers/choice/reading.ts',
      'packages/core/src/scorers/choice/sentences.ts',
      'packages/core/src/scorers/choice/statements.ts',
      'packages/core/src/spec/datasets/choice-question.ts',
      'packages/core/src/spec/datasets/hle.ts',
      'packages/core/src/spec/datasets/mmlu-pro.ts',
      'packages/simulator/src/compose-result.ts',
      'tests/unit/core/check-questions.test.ts',
      'tests/unit/core/extract-bbh-answer.test.ts',
      'tests/unit/core/read-choice.test.ts',
      'tests/unit/core/choice-corpus.test.ts',
      'tests/unit/core/grade-answer.test.ts',
      'tests/unit/simulator/behaviour.test.ts',
    ],
  },
  {
    word: 'attempt, of a task',
    instead: 'delivery; an attempt is one request for a call',
    pattern:
      /\b(?:inside|within|in) (?:the|an|one|this|that|each|every|another|the same) attempts?\b|\bthose of earlier attempts\b|\battempts? (?:of|at) (?:a|the|its|this|each) (?:task|message|delivery)\b|\bdeliver(?:y|ed) attempts?\b/i,
    planted: ['again inside the attempt', 'the third attempt at a task', 'delivery attempts'],
  },
  {
    word: 'verdict',
    instead: 'grade; without a verdict: ungraded',
    pattern: /verdict/i,
    allowedIn: ['tests/support/echo-expectation.ts'],
    planted: ['readVerdict(text)'],
  },
  {
    word: 'try, tries',
    instead: 'attempt',
    pattern:
      /max.?tries|\btryCount|\btries\b(?! to )|\b(?:a|one|first|second|third|last|next|each|every|another|per|more) try\b/i,
    planted: ['max_tries = 5'],
  },
  {
    word: 'bracket',
    instead: 'bounds',
    pattern: /(?<!(?:opening|closing|square|round|curly) )\bbrackets?\b|scoreBracket/i,
    planted: ['the bracket of a score'],
  },
  {
    word: 'closure',
    instead: 'open breaker',
    pattern: /closure/i,
    planted: ['interface Closure {}'],
  },
  {
    word: 'a lane closes, opens',
    instead: 'its breaker opens, closes; it is blocked, unblocked',
    pattern:
      /\b(?:closed|open) lanes?\b|(?<!breakers? of [^.]{0,30})\b(?:lane|model)s? (?:is |are |was |were |stays? )?(?:closed|closes?|opens?|open)\b|\b(?:close|open|reopen)(?:s|ed|ing)? (?:a |the |its |their )(?:lane|model)\b(?! clients?)/i,
    planted: ['An exhausted quota closes the\n * lane.'],
  },
  {
    word: 'subject',
    instead: 'breaker key',
    // As a tag of questions it is quoted, in a license followed by "to".
    pattern: /(?<!['`])\bsubjects?\b(?!['`]| to )|[a-z]Subject\b|\bsubjectOf/,
    planted: ['breakers.get(subject)'],
    // The subjects of MMLU.
    allowedIn: [
      'packages/core/src/spec/datasets/mmlu.ts',
      'tests/fixtures/datasets/README.md',
      'tests/unit/local/datasets.test.ts',
    ],
  },
  {
    word: 'on trial, probed',
    instead: 'half-open',
    pattern: /\bon trial\b|\bprob(?:ed|ing)\b/i,
    planted: ['a lane on trial'],
  },
  {
    word: 'parked',
    instead: 'deferred',
    pattern: /\b[Pp]ark(?:s|ed|ing)?\b|\bparked[A-Z]|[a-z]Park(?:ed|ing)?(?![a-z])/,
    planted: ['const isParked = true'],
  },
  {
    word: 'steward',
    instead: 'reconciler',
    pattern: /steward/i,
    planted: ['functions/steward.ts'],
  },
  {
    word: 'tend',
    instead: 'reconcile',
    pattern: /\b[Tt]end(?:s|ed|ing)?\b(?! to )|\btend[A-Z]/,
    planted: ['await tendGroups(stores)'],
  },
  {
    word: 'mend',
    instead: 'repair',
    pattern: /\b[Mm]end(?:s|ed|ing)?\b|\bmend[A-Z]|[a-z]Mend(?:ed)?\b/,
    planted: ['The tally is mended.'],
  },
  {
    word: 'watchlist',
    instead: 'active groups',
    pattern: /watch[-_]?list/i,
    planted: ['class DynamoWatchlist {}'],
  },
  {
    word: 'defect',
    instead: 'bug',
    pattern: /defect/i,
    planted: ['This is a defect of Thrice.'],
  },
  {
    word: 'simulation',
    instead: 'capacity model; the simulator is a model server',
    pattern: /simulation/i,
    planted: ['npm run simulation'],
  },
  {
    word: 'carry on',
    instead: 'continue, resume',
    pattern: /\bcarr(?:y|ies|ied|ying) on\b|carryOn/i,
    planted: ['Another worker carries\non.'],
  },
  {
    word: 'in hand',
    instead: 'in flight, held',
    pattern: /\bin hand\b|inHand\b/i,
    planted: ['the cells in\n// hand'],
  },
  {
    word: 'bite',
    instead: 'is reached',
    pattern: /\bbit(?:e|es|ing|ten)\b/i,
    planted: ['which quota bites first'],
  },
];

/** The answers of models keep their words, and so does this list. */
const EXEMPT = /^tests\/(?:fixtures\/answers\/.*|unit\/vocabulary\.test\.ts)$/;

describe('the vocabulary', () => {
  const files = readRepository().filter(({ path }) => !EXEMPT.test(path));

  it.each(replacedWords)('"$word" is replaced: $instead', (replaced) => {
    expect(files.flatMap((file) => findUses(replaced, file))).toEqual([]);
  });
});

describe('a planted word is found', () => {
  const planted = replacedWords.flatMap((replaced) =>
    replaced.planted.map((use) => ({
      word: replaced.word,
      use: JSON.stringify(use),
      text: use,
      replaced,
    })),
  );

  it.each(planted)('in a text: $word: $use', ({ replaced, text }) => {
    const comment = `// The first line.\n/** ${text} */`;

    expect(findUses(replaced, { path: 'README.md', text: comment })).not.toEqual([]);
  });

  it('beside an allowed phrase', () => {
    const [letter] = replacedWords;
    const text = 'The dead-letter queue has a letter.';

    expect(letter && findUses(letter, { path: 'README.md', text })).toEqual([
      'README.md:1: letter',
    ]);
  });

  it('in the name of a file', () => {
    const [steward] = replacedWords.filter(({ word }) => word === 'steward');
    const uses = steward && findUses(steward, { path: 'functions/steward.ts', text: '' });

    expect(uses).toEqual(['functions/steward.ts']);
  });
});

describe('another sense of a word is left alone', () => {
  it.each([
    'a dead-letter queue',
    'a dead-letter\n * queue',
    'deadLetterTargetArn: queue.arn',
    'try again later; every entry retries, and tries to finish',
    'try {',
    'no closing bracket',
    'Permission is granted, subject to the following conditions',
    "tags: ['subject', 'topic']",
    'extend, recommend, tends to be late',
    'Opens the model clients. The breaker of the lane or the model opens.',
    ...replacedWords.flatMap(({ allowed = [] }) => allowed),
  ])('%j', (text) => {
    const file = { path: 'README.md', text: `${text} ` };

    expect(replacedWords.flatMap((replaced) => findUses(replaced, file))).toEqual([]);
  });
});

describe('an exception from the vocabulary is still needed', () => {
  const files = readRepository().filter(({ path }) => !EXEMPT.test(path));
  const excepting = replacedWords.flatMap(({ pattern, allowed = [], allowedIn = [] }) => [
    ...allowed.map((phrase) => ({ exception: phrase, pattern: new RegExp(wrapped(phrase), 'i') })),
    ...allowedIn.map((path) => ({ exception: path, pattern })),
  ]);

  it.each(excepting)('$exception', ({ exception, pattern }) => {
    const [excepted] = files.filter(({ path }) => path === exception);
    const places = excepted === undefined ? files : [excepted];

    expect(places.some(({ path, text }) => pattern.test(text) || pattern.test(path))).toBe(true);
  });
});

/** Lists the uses of a word as `PATH:LINE: TEXT`, or `PATH` for the name of a file. */
function findUses(
  { pattern, allowed = [], allowedIn = [] }: ReplacedWord,
  { path, text }: RepositoryFile,
): readonly string[] {
  if (allowedIn.includes(path)) return [];
  const uses = new RegExp(wrapped(pattern.source), `${pattern.flags}g`);
  const read = (part: string) => blank(part, allowed);
  const inName = read(path).search(uses) === -1 ? [] : [path];
  const inText = [...read(text).matchAll(uses)].map(({ index, 0: use }) => {
    const line = text.slice(0, index).split('\n').length;
    return `${path}:${line}: ${use}`;
  });
  return [...inName, ...inText];
}

/** Replaces phrases by as many spaces, and keeps line breaks. */
function blank(text: string, phrases: readonly string[]): string {
  if (phrases.length === 0) return text;
  const pattern = new RegExp(wrapped(phrases.join('|')), 'gi');
  return text.replace(pattern, (phrase) => phrase.replace(/\S/g, ' '));
}

/** Lets each space of a pattern match a line break of a wrapped comment or paragraph as well. */
function wrapped(source: string): string {
  return source.replaceAll(' ', String.raw`(?:[ \t]|\n[ \t]*(?:\*|//|#|\|)?[ \t]*)`);
}
