import type { DatabaseKind } from '../connection.js'

/**
 * Accounts, keys and what they used, in a file of their own: an import holds the data's write lock for seconds, and a
 * server only reads the data. Steps are never edited once released. All times are milliseconds since 1970.
 */
export const ACCOUNTS: DatabaseKind = {
  table: 'ledger',
  made: 'bands accounts create NAME --tier free',
  // What was charged stands nowhere else.
  remedy: 'put a copy from before in its place',
  mode: 0o600,
  migrations: [
    `
    -- folded: the name as it is compared
    CREATE TABLE accounts (
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL,
      folded TEXT NOT NULL UNIQUE,
      tier TEXT NOT NULL CHECK (tier IN ('free', 'plus', 'pro')),
      created INTEGER NOT NULL
    ) STRICT;

    -- hash: SHA-256 of the whole key, which itself is nowhere; in hexadecimal digits, which are read faster than a blob
    CREATE TABLE keys (
      id INTEGER PRIMARY KEY,
      identity TEXT NOT NULL UNIQUE,
      hash TEXT NOT NULL CHECK (length(hash) = 64),
      account INTEGER NOT NULL REFERENCES accounts (id),
      name TEXT NOT NULL,
      created INTEGER NOT NULL,
      expires INTEGER,
      last_used INTEGER,
      revoked INTEGER
    ) STRICT;
    CREATE INDEX keys_by_account ON keys (account);

    -- One row an answer that was charged, for ever; request: the server's own number of it, later ones higher
    CREATE TABLE ledger (
      request TEXT PRIMARY KEY,
      account INTEGER NOT NULL REFERENCES accounts (id),
      key TEXT NOT NULL,
      endpoint TEXT NOT NULL,
      credits INTEGER NOT NULL CHECK (credits > 0),
      at INTEGER NOT NULL CHECK (at >= 0)
    ) STRICT, WITHOUT ROWID;

    -- The sums of the ledger by day and by hour, kept with it in one transaction
    CREATE TABLE counters (
      account INTEGER NOT NULL REFERENCES accounts (id),
      period TEXT NOT NULL CHECK (period IN ('day', 'hour')),
      start INTEGER NOT NULL,
      credits INTEGER NOT NULL,
      requests INTEGER NOT NULL,
      PRIMARY KEY (account, period, start)
    ) STRICT, WITHOUT ROWID;

    -- Requests that their callers named. Both hashes are SHA-256; the lowest ids are the oldest.
    CREATE TABLE named (
      id INTEGER PRIMARY KEY,
      account INTEGER NOT NULL REFERENCES accounts (id),
      name BLOB NOT NULL,
      question BLOB NOT NULL,
      at INTEGER NOT NULL,
      UNIQUE (account, name)
    ) STRICT;
    `,
  ],
}
