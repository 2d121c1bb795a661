BEGIN TRANSACTION;
CREATE TABLE checkpoints (
            key TEXT PRIMARY KEY,
            value TEXT NOT NULL,
            version INTEGER NOT NULL DEFAULT 1,
            updated_at TEXT NOT NULL DEFAULT (datetime('now'))
        );
INSERT INTO "checkpoints" VALUES('workflow:plan','{"step": 2, "done": false}',2,'2026-11-15 10:17:38');
INSERT INTO "checkpoints" VALUES('100%_sure/../?*[x]','"path and pattern characters"',1,'2026-11-15 10:17:38');
INSERT INTO "checkpoints" VALUES('größe','{"größe": 1.5, "liste": [null, true, "x"]}',1,'2026-11-15 10:17:38');
COMMIT;
