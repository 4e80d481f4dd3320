import { type ErrorRow, NO_STATUS } from './error-row.ts';

/** The vendor has shut an account out, for what it did before: no request of it is answered, whatever it contains. */
export const ACCOUNT_ROWS: readonly ErrorRow[] = [
  {
    // OpenAI, 429.
    code: 'auth-failed',
    words: ['access_terminated'],
  },
  {
    code: 'auth-failed',
    status: [NO_STATUS, 400, 401, 403, 429],
    texts: [
      // Azure's resources, OpenAI's accounts.
      /\byour (?:account|resource|organization|project|team|access|api key) (?:\w+ ){0,3}(?:flagged|blocked|terminated|banned)\b/i,
      // Vercel's gateway.
      /\bfree credits temporarily have restricted access\b/i,
    ],
  },
];
