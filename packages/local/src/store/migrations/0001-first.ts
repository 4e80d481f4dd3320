/**
 * The first schema.
 *
 * `tasks` is the queue: each row is a task that is visible from `visible_at` (ms since 1970), was hidden at
 * `hidden_at` and is held by a worker while `holder` is set; `is_woken` says that it was woken meanwhile. `cells` has a
 * row for each cell that was ever claimed. `calls` is the journal: `discarded_id` is empty for the call that answers its
 * step, and the call's id for a discarded call. `submissions` has the latest response that was asked for in the
 * background, of each step.
 * `batches` has the batches that are not over; `batched_calls` the latest call of each step that entered one.
 * `lanes` has what is known of the limits of each lane's account.
 * `shared_calls` has which step buys, or has bought, a call that the cells of `run` share;
 * `only_config` is empty unless it is for one config alone.
 * `budget_accounts` has a row for each lane of a group with a budget, and one with the lane '' for the whole group;
 * `reservations` the calls that are in flight there, and those whose cost is not known (`is_kept`).
 *
 * `cells`, `calls` and `batched_calls` have rowids, because their rows are long: without one, SQLite keeps most of a row of over 1 KB
 * in a page of its own.
 */
export const firstMigration = `
CREATE TABLE groups (
  group_name TEXT PRIMARY KEY,
  created_at TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'active',
  is_planned INTEGER NOT NULL DEFAULT 0,
  header TEXT NOT NULL
) STRICT;

CREATE TABLE question_files (
  file_no INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE tasks (
  task_no INTEGER PRIMARY KEY AUTOINCREMENT,
  group_name TEXT NOT NULL,
  lane TEXT NOT NULL,
  run TEXT NOT NULL,
  config TEXT NOT NULL,
  id TEXT NOT NULL,
  generation INTEGER NOT NULL,
  file_no INTEGER NOT NULL,
  question_offset INTEGER NOT NULL,
  question_length INTEGER NOT NULL,
  visible_at INTEGER NOT NULL,
  hidden_at INTEGER NOT NULL,
  delivery INTEGER NOT NULL DEFAULT 0,
  holder TEXT,
  is_woken INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX tasks_by_cell ON tasks (run, config, id);
CREATE INDEX tasks_by_visibility ON tasks (group_name, lane, visible_at);
CREATE INDEX tasks_by_holder ON tasks (holder, visible_at) WHERE holder IS NOT NULL;

CREATE TABLE cells (
  run TEXT NOT NULL,
  config TEXT NOT NULL,
  id TEXT NOT NULL,
  state TEXT NOT NULL,
  generation INTEGER NOT NULL,
  owner TEXT,
  lease_until INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  attempt_log TEXT,
  given_up TEXT,
  outcome TEXT,
  result TEXT,
  PRIMARY KEY (run, config, id)
) STRICT;

CREATE TABLE calls (
  run TEXT NOT NULL,
  config TEXT NOT NULL,
  id TEXT NOT NULL,
  step TEXT NOT NULL,
  discarded_id TEXT NOT NULL DEFAULT '',
  entry TEXT NOT NULL,
  PRIMARY KEY (run, config, id, step, discarded_id)
) STRICT;
CREATE INDEX discarded_calls ON calls (run, config) WHERE discarded_id <> '';

CREATE TABLE submissions (
  run TEXT NOT NULL,
  config TEXT NOT NULL,
  id TEXT NOT NULL,
  step TEXT NOT NULL,
  submission TEXT NOT NULL,
  PRIMARY KEY (run, config, id, step)
) STRICT, WITHOUT ROWID;

CREATE TABLE batches (
  batch_no INTEGER PRIMARY KEY AUTOINCREMENT,
  batch_id TEXT NOT NULL UNIQUE,
  group_name TEXT NOT NULL,
  batch TEXT NOT NULL
) STRICT;
CREATE INDEX batches_by_group ON batches (group_name);

CREATE TABLE batched_calls (
  run TEXT NOT NULL,
  config TEXT NOT NULL,
  id TEXT NOT NULL,
  step TEXT NOT NULL,
  batch_id TEXT NOT NULL,
  call_id TEXT NOT NULL,
  is_waiting INTEGER NOT NULL,
  call TEXT NOT NULL,
  PRIMARY KEY (run, config, id, step)
) STRICT;
CREATE INDEX calls_by_batch ON batched_calls (batch_id, call_id);

CREATE TABLE shared_calls (
  run TEXT NOT NULL,
  only_config TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  sample INTEGER NOT NULL,
  buyer_run TEXT NOT NULL,
  config TEXT NOT NULL,
  id TEXT NOT NULL,
  step TEXT NOT NULL,
  claimed_at INTEGER NOT NULL,
  PRIMARY KEY (run, only_config, fingerprint, sample)
) STRICT, WITHOUT ROWID;

CREATE TABLE tallies (
  run TEXT NOT NULL,
  config TEXT NOT NULL,
  scored INTEGER NOT NULL DEFAULT 0,
  unparsed INTEGER NOT NULL DEFAULT 0,
  ungraded INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  correct INTEGER NOT NULL DEFAULT 0,
  cost_usd REAL NOT NULL DEFAULT 0,
  retries INTEGER NOT NULL DEFAULT 0,
  waste_usd REAL NOT NULL DEFAULT 0,
  overhead_usd REAL NOT NULL DEFAULT 0,
  unpriced_calls INTEGER NOT NULL DEFAULT 0,
  to_grade INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (run, config)
) STRICT, WITHOUT ROWID;

CREATE TABLE open_breakers (
  breaker_key TEXT PRIMARY KEY,
  breaker TEXT NOT NULL
) STRICT;

CREATE TABLE notifications (
  group_name TEXT NOT NULL,
  key TEXT NOT NULL,
  is_unsent INTEGER NOT NULL,
  notification TEXT NOT NULL,
  PRIMARY KEY (group_name, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE lanes (
  lane TEXT PRIMARY KEY,
  state TEXT NOT NULL
) STRICT;
CREATE TABLE budget_accounts (
  group_name TEXT NOT NULL,
  lane TEXT NOT NULL,
  account TEXT NOT NULL,
  PRIMARY KEY (group_name, lane)
) STRICT, WITHOUT ROWID;

CREATE TABLE reservations (
  group_name TEXT NOT NULL,
  run TEXT NOT NULL,
  config TEXT NOT NULL,
  id TEXT NOT NULL,
  step TEXT NOT NULL,
  call_id TEXT NOT NULL,
  lane TEXT NOT NULL,
  until_ms INTEGER NOT NULL,
  is_kept INTEGER NOT NULL DEFAULT 0,
  reservation TEXT NOT NULL,
  PRIMARY KEY (group_name, run, config, id, step, call_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX open_reservations ON reservations (group_name, until_ms) WHERE is_kept = 0;

CREATE TABLE workers (
  owner TEXT PRIMARY KEY,
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  pid_started TEXT NOT NULL,
  group_name TEXT NOT NULL,
  waits TEXT NOT NULL
) STRICT;
`;
