/** The result of one check of `thrice doctor`. */
export interface Finding {
  readonly severity: 'ok' | 'warning' | 'error';
  /** Where, what was found, and what to do about it. */
  readonly what: string;
}
