-- Version 10: tags that users give to runs.

CREATE TABLE tag (
    run TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    tag TEXT NOT NULL
        CHECK (length(tag) BETWEEN 1 AND 100 AND tag NOT GLOB '*[^A-Za-z0-9._-]*'),
    PRIMARY KEY (run, tag)
) STRICT, WITHOUT ROWID;
