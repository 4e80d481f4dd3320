import { describe, expect, it } from 'vitest';
import { type RepositoryFile, readRepository } from '../support/repository-files.ts';

/** A word that the glossary in `docs/architecture.md` replaces. */
interface ReplacedWord {
  readonly word: string;
  readonly instead: string;
  /** A space also matches the line break of a wrapped comment or paragraph. */
  readonly pattern: RegExp;
  /** A use of the word. */
  readonly planted: string;
}

const replacedWords: readonly ReplacedWord[] = [
  {
    word: 'letter',
    instead: 'DLQ message',
    pattern:
      /dead.?letters?(?!.?queue| queue|TargetArn|Config)|\b(?:dlq|failed|stray|unreadable|poison) letters?\b|\b(?:replay|drop|send)(?:s|ed|ing)? (?:a |the )?letters?\b|(?:replay|drop|send|list|a)Letters?\b/i,
    planted: 'dropLetters(queue)',
  },
  {
    word: 'verdict',
    instead: 'grade; without a verdict: ungraded',
    pattern: /verdict/i,
    planted: 'readVerdict(text)',
  },
  {
    word: 'try, tries',
    instead: 'attempt',
    pattern:
      /max.?tries|\btryCount|\btries\b(?! to )|\b(?:a|one|first|second|third|last|next|each|every|another|per|more) try\b/i,
    planted: 'max_tries = 5',
  },
  {
    word: 'bracket',
    instead: 'bounds',
    pattern: /(?<!(?:opening|closing|square|round|curly) )\bbrackets?\b|scoreBracket/i,
    planted: 'the bracket of a score',
  },
  {
    word: 'closure',
    instead: 'open breaker',
    pattern: /closure/i,
    planted: 'interface Closure {}',
  },
  {
    word: 'a lane closes, opens',
    instead: 'its breaker opens, closes; it is blocked, unblocked',
    pattern:
      /\b(?:closed|open) lanes?\b|(?<!breakers? of [^.]{0,30})\b(?:lane|model)s? (?:is |are |was |were |stays? )?(?:closed|closes?|opens?|open)\b|\b(?:close|open|reopen)(?:s|ed|ing)? (?:a |the |its |their )(?:lane|model)\b(?! clients?)/i,
    planted: 'An exhausted quota closes the\n * lane.',
  },
  {
    word: 'subject',
    instead: 'breaker key',
    // As a tag of questions it is quoted, in a license followed by "to".
    pattern: /(?<!['`])\bsubjects?\b(?!['`]| to )|[a-z]Subject\b|\bsubjectOf/,
    planted: 'breakers.get(subject)',
  },
  {
    word: 'on trial, probed',
    instead: 'half-open',
    pattern: /\bon trial\b|\bprob(?:ed|ing)\b/i,
    planted: 'a lane on trial',
  },
  {
    word: 'parked',
    instead: 'deferred',
    pattern: /\b[Pp]ark(?:s|ed|ing)?\b|\bparked[A-Z]|[a-z]Park(?:ed|ing)?(?![a-z])/,
    planted: 'const isParked = true',
  },
  {
    word: 'steward',
    instead: 'reconciler',
    pattern: /steward/i,
    planted: 'functions/steward.ts',
  },
  {
    word: 'tend',
    instead: 'reconcile',
    pattern: /\b[Tt]end(?:s|ed|ing)?\b(?! to )|\btend[A-Z]/,
    planted: 'await tendGroups(stores)',
  },
  {
    word: 'mend',
    instead: 'repair',
    pattern: /\b[Mm]end(?:s|ed|ing)?\b|\bmend[A-Z]|[a-z]Mend(?:ed)?\b/,
    planted: 'The tally is mended.',
  },
  {
    word: 'watchlist',
    instead: 'active groups',
    pattern: /watch[-_]?list/i,
    planted: 'class DynamoWatchlist {}',
  },
  {
    word: 'defect',
    instead: 'bug',
    pattern: /defect/i,
    planted: 'This is a defect of Thrice.',
  },
  {
    word: 'simulation',
    instead: 'capacity model; the simulator is a model server',
    pattern: /simulation/i,
    planted: 'npm run simulation',
  },
  {
    word: 'carry on',
    instead: 'continue, resume',
    pattern: /\bcarr(?:y|ies|ied|ying) on\b|carryOn/i,
    planted: 'Another worker carries\non.',
  },
  {
    word: 'in hand',
    instead: 'in flight, held',
    pattern: /\bin hand\b|inHand\b/i,
    planted: 'the cells in\n// hand',
  },
  {
    word: 'bite',
    instead: 'is reached',
    pattern: /\bbit(?:e|es|ing|ten)\b/i,
    planted: 'which quota bites first',
  },
];

/** The history keeps its words, and so does this list. */
const EXEMPT = /^(?:CHANGELOG\.md|docs\/decisions\/.*|tests\/unit\/vocabulary\.test\.ts)$/;
/** The name of a decision, in a link. */
const DECISION = /decisions\/\d{4}-[\w-]+\.md/g;

describe('the vocabulary', () => {
  const files = readRepository().filter(({ path }) => !EXEMPT.test(path));

  it.each(replacedWords)('"$word" is replaced: $instead', (replaced) => {
    expect(files.flatMap((file) => findUses(replaced, file))).toEqual([]);
  });
});

describe('a planted word is found', () => {
  it.each(replacedWords)('in a text: $word', (replaced) => {
    const text = `// The first line.\n/** ${replaced.planted} */`;

    expect(findUses(replaced, { path: 'README.md', text })).toHaveLength(1);
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
    'choiceLetter(index)',
    'expected letters, digits and "_"',
    'try again later; every entry retries, and tries to finish',
    'try {',
    'no closing bracket',
    'Permission is granted, subject to the following conditions',
    "tags: ['subject', 'topic']",
    'extend, recommend, tends to be late',
    'Opens the model clients. The breaker of the lane or the model opens.',
    '[0008](decisions/0008-parking.md)',
  ])('%j', (text) => {
    const file = { path: 'README.md', text: `${text} ` };

    expect(replacedWords.flatMap((replaced) => findUses(replaced, file))).toEqual([]);
  });
});

/** Lists the uses of a word as `PATH:LINE: TEXT`, or `PATH` for the name of a file. */
function findUses({ pattern }: ReplacedWord, { path, text }: RepositoryFile): readonly string[] {
  const source = pattern.source.replaceAll(
    ' ',
    String.raw`(?:[ \t]|\n[ \t]*(?:\*|//|#|\|)?[ \t]*)`,
  );
  const uses = new RegExp(source, `${pattern.flags}g`);
  const inName = path.search(uses) === -1 ? [] : [path];
  const inText = [...text.replace(DECISION, '').matchAll(uses)].map(({ index, 0: use }) => {
    const line = text.slice(0, index).split('\n').length;
    return `${path}:${line}: ${use}`;
  });
  return [...inName, ...inText];
}
