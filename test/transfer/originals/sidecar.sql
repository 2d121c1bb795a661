BEGIN TRANSACTION;
CREATE TABLE history (
    id                   INTEGER PRIMARY KEY AUTOINCREMENT,
    key                  TEXT NOT NULL,
    new_value_json       TEXT NOT NULL,
    previous_value_json  TEXT,          -- NULL on first write for this key
    agent_id             TEXT,          -- NULL when caller omits agent_id
    written_at           REAL NOT NULL  -- unixepoch() set in SQL
);
INSERT INTO "history" VALUES(1,'config/limit','{"rps": 20}',NULL,'planner',1794737841.0);
INSERT INTO "history" VALUES(2,'config/limit','{"rps": 25}','{"rps": 20}','planner',1794737841.0);
INSERT INTO "history" VALUES(3,'short','"lived"',NULL,NULL,1794737841.0);
INSERT INTO "history" VALUES(4,'long','"lived"',NULL,NULL,1794737841.0);
CREATE TABLE kv_store (
    key        TEXT PRIMARY KEY,
    value_json TEXT NOT NULL,
    expires_at REAL          -- NULL means no expiry
);
INSERT INTO "kv_store" VALUES('config/limit','{"rps": 25}',NULL);
INSERT INTO "kv_store" VALUES('short','"lived"',1794737842.0);
INSERT INTO "kv_store" VALUES('long','"lived"',2109737841.0);
CREATE TABLE leases (
    resource_id TEXT PRIMARY KEY,
    holder_id   TEXT NOT NULL,
    expires_at  REAL NOT NULL
);
INSERT INTO "leases" VALUES('deploy','agent-a',1.7947384418764731884e+09);
CREATE TABLE sessions (
    session_id   TEXT PRIMARY KEY,
    context_json TEXT NOT NULL,
    saved_at     REAL NOT NULL,         -- unixepoch() set in SQL on first insert
    updated_at   REAL NOT NULL          -- unixepoch() set in SQL; refreshed on every upsert
);
INSERT INTO "sessions" VALUES('s-1','{"task": "migrate", "notes": ["a", "b"]}',1794737841.0,1794737841.0);
CREATE TABLE step_outputs (
    run_id      TEXT NOT NULL,
    step        INTEGER NOT NULL,
    output_json TEXT NOT NULL,
    PRIMARY KEY (run_id, step)
);
INSERT INTO "step_outputs" VALUES('wf-40d045ac5239',1,'{"moved": 100}');
INSERT INTO "step_outputs" VALUES('wf-40d045ac5239',2,'{"moved": 200}');
INSERT INTO "step_outputs" VALUES('wf-40d045ac5239',3,'{"moved": 300}');
INSERT INTO "step_outputs" VALUES('wf-27fdaafbe3bb',1,'"all"');
CREATE TABLE workflows (
    run_id     TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    status     TEXT NOT NULL DEFAULT 'created',
    tags_json  TEXT NOT NULL DEFAULT '{}',
    agent_id   TEXT,
    last_step  INTEGER NOT NULL DEFAULT 0,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL
);
INSERT INTO "workflows" VALUES('wf-0955f06a6645','index the docs','created','{"team": "search"}',NULL,0,1.79473784190023827548e+09,1.79473784190023827548e+09);
INSERT INTO "workflows" VALUES('wf-890e16a83e55','nightly report','claimed','{"team": "data", "kind": "report"}','agent-b',0,1.79473784191641139986e+09,1.79473784193224525449e+09);
INSERT INTO "workflows" VALUES('wf-40d045ac5239','migrate users','running','{}','agent-c',3,1.79473784193985724452e+09,1.79473784201621866223e+09);
INSERT INTO "workflows" VALUES('wf-27fdaafbe3bb','old job','done','{}',NULL,1,1.79473784202733302114e+09,1.79473784204838347428e+09);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('history',4);
COMMIT;
