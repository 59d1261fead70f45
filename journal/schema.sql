-- A journal file, format 1. History is appended and never edited; the file itself refuses anything else,
-- because a second writer may not be ours.
--
-- A missing BEFORE DELETE alone would not do: INSERT OR REPLACE deletes without firing it. So every insert
-- is guarded too: an event takes its branch's next position and a new rowid, or nothing happens.

PRAGMA application_id = 1413696082;  -- 'TCJR'
PRAGMA user_version = 1;

CREATE TABLE header (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    format INTEGER NOT NULL,
    journal_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    root TEXT
) STRICT;

CREATE TABLE branches (
    branch INTEGER PRIMARY KEY CHECK (branch > 0),
    parent INTEGER CHECK ((parent IS NULL) = (branch = 1)),
    fork_position INTEGER NOT NULL CHECK (fork_position >= 0),
    genesis BLOB NOT NULL CHECK (length(genesis) = 32)
) STRICT;

-- The rowid is the order of recording, for display; (branch, position) is the order that counts.
-- A tip that is lower-case hex of even length is stored as its bytes, any other as text.
CREATE TABLE events (
    id INTEGER PRIMARY KEY CHECK (id > 0),
    branch INTEGER NOT NULL,
    position INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    tip ANY CHECK (typeof(tip) IN ('null', 'blob', 'text')),
    cause BLOB CHECK (cause IS NULL OR length(cause) = 32),
    type TEXT NOT NULL,
    payload TEXT NOT NULL,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    UNIQUE (branch, position)
) STRICT;

-- One row for each attempt ever intended; written by the trigger below and by nothing else.
CREATE TABLE submissions (
    capture TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    PRIMARY KEY (capture, attempt)
) STRICT, WITHOUT ROWID;

-- Masked texts that events name by sha256. Outside the chain: they can be erased, and never changed.
CREATE TABLE bodies (
    digest BLOB PRIMARY KEY NOT NULL CHECK (length(digest) = 32),
    text TEXT NOT NULL
) STRICT;

CREATE TRIGGER header_is_written_once BEFORE INSERT ON header
WHEN EXISTS (SELECT 1 FROM header)
BEGIN
    SELECT RAISE(ABORT, 'journal: header exists');
END;

CREATE TRIGGER header_is_not_updated BEFORE UPDATE ON header
BEGIN
    SELECT RAISE(ABORT, 'journal: append only');
END;

CREATE TRIGGER header_is_not_deleted BEFORE DELETE ON header
BEGIN
    SELECT RAISE(ABORT, 'journal: append only');
END;

CREATE TRIGGER branches_come_in_order BEFORE INSERT ON branches
WHEN NEW.branch IS NOT coalesce((SELECT max(branch) FROM branches), 0) + 1
BEGIN
    SELECT RAISE(ABORT, 'journal: branch out of order');
END;

-- The parent named is the branch that recorded the fork's event, so every fork has one spelling.
CREATE TRIGGER branches_leave_an_event BEFORE INSERT ON branches
WHEN NOT CASE
    WHEN NEW.parent IS NULL THEN NEW.fork_position = 0
    WHEN NEW.fork_position = 0 THEN NEW.parent = 1
    ELSE EXISTS (SELECT 1 FROM events WHERE branch = NEW.parent AND position = NEW.fork_position)
END
BEGIN
    SELECT RAISE(ABORT, 'journal: no such fork');
END;

CREATE TRIGGER branches_are_not_updated BEFORE UPDATE ON branches
BEGIN
    SELECT RAISE(ABORT, 'journal: append only');
END;

CREATE TRIGGER branches_are_not_deleted BEFORE DELETE ON branches
BEGIN
    SELECT RAISE(ABORT, 'journal: append only');
END;

CREATE TRIGGER events_come_in_order BEFORE INSERT ON events
WHEN NEW.position IS NOT 1 + coalesce(
    (SELECT max(position) FROM events WHERE branch = NEW.branch),
    (SELECT fork_position FROM branches WHERE branch = NEW.branch)
) OR (NEW.id > 0 AND NEW.id <= (SELECT max(id) FROM events))
BEGIN
    SELECT RAISE(ABORT, 'journal: event out of order');
END;

CREATE TRIGGER events_are_not_updated BEFORE UPDATE ON events
BEGIN
    SELECT RAISE(ABORT, 'journal: append only');
END;

CREATE TRIGGER events_are_not_deleted BEFORE DELETE ON events
BEGIN
    SELECT RAISE(ABORT, 'journal: append only');
END;

-- The intent and its submission are one statement: nothing can submit twice, and nothing can intend without it.
-- json_each and not json_extract: SQLite 3.40 calls the latter unsafe in a trigger when the schema is not trusted.
CREATE TRIGGER intents_are_submissions AFTER INSERT ON events
WHEN NEW.type GLOB 'write-intended.*'
BEGIN
    INSERT INTO submissions (capture, attempt) VALUES (
        (SELECT atom FROM json_each(NEW.payload) WHERE key = 'capture_id'),
        (SELECT atom FROM json_each(NEW.payload) WHERE key = 'attempt')
    );
END;

-- Not left to the primary key: an outer INSERT OR REPLACE lends its conflict rule to the trigger above.
CREATE TRIGGER submissions_happen_once BEFORE INSERT ON submissions
WHEN EXISTS (SELECT 1 FROM submissions WHERE capture = NEW.capture AND attempt = NEW.attempt)
BEGIN
    SELECT RAISE(ABORT, 'journal: already submitted');
END;

CREATE TRIGGER submissions_follow_their_intent BEFORE INSERT ON submissions
WHEN NOT EXISTS (
    SELECT 1 FROM events AS e, json_each(e.payload) AS c, json_each(e.payload) AS a
    WHERE e.id = (SELECT max(id) FROM events) AND e.type GLOB 'write-intended.*'
    AND c.key = 'capture_id' AND c.atom = NEW.capture AND a.key = 'attempt' AND a.atom = NEW.attempt
)
BEGIN
    SELECT RAISE(ABORT, 'journal: no such intent');
END;

CREATE TRIGGER submissions_are_not_updated BEFORE UPDATE ON submissions
BEGIN
    SELECT RAISE(ABORT, 'journal: append only');
END;

CREATE TRIGGER submissions_are_not_deleted BEFORE DELETE ON submissions
BEGIN
    SELECT RAISE(ABORT, 'journal: append only');
END;

-- A body's name is its digest, so what is there already is what would be written.
CREATE TRIGGER bodies_are_written_once BEFORE INSERT ON bodies
WHEN EXISTS (SELECT 1 FROM bodies WHERE digest = NEW.digest)
BEGIN
    SELECT RAISE(IGNORE);
END;

CREATE TRIGGER bodies_are_not_updated BEFORE UPDATE ON bodies
BEGIN
    SELECT RAISE(ABORT, 'journal: append only');
END;
