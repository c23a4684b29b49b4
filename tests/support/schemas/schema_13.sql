-- A store as a Windlass of schema 13 left it, with something in every table.
BEGIN TRANSACTION;
CREATE TABLE agents (
	uid VARCHAR(16) NOT NULL, 
	repo VARCHAR(8) NOT NULL, 
	id VARCHAR(48) NOT NULL, 
	role VARCHAR(16) NOT NULL, 
	parent VARCHAR(16), 
	goal TEXT NOT NULL, 
	driver VARCHAR(32) NOT NULL, 
	model TEXT, 
	mode VARCHAR(16) NOT NULL, 
	branch TEXT, 
	workspace TEXT NOT NULL, 
	base VARCHAR(64) NOT NULL, 
	base_from TEXT NOT NULL, 
	policy JSON NOT NULL, 
	script TEXT, 
	options JSON DEFAULT '{}' NOT NULL, 
	fork_of TEXT, 
	limits JSON DEFAULT '{}' NOT NULL, 
	isolation VARCHAR(16) DEFAULT 'hooks' NOT NULL, 
	network VARCHAR(16) DEFAULT 'host' NOT NULL, 
	slot INTEGER NOT NULL, 
	archive TEXT, 
	conversation VARCHAR(36) NOT NULL, 
	session INTEGER NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	state_at FLOAT NOT NULL, 
	created_at FLOAT NOT NULL, 
	ended_at FLOAT, 
	ended_by TEXT, spawns BOOLEAN DEFAULT 0 NOT NULL, persistent BOOLEAN DEFAULT 0 NOT NULL, readonly BOOLEAN DEFAULT 0 NOT NULL, task VARCHAR(24) DEFAULT '' NOT NULL, run VARCHAR(24) DEFAULT '' NOT NULL, 
	PRIMARY KEY (uid), 
	FOREIGN KEY(repo) REFERENCES repos (id)
);
INSERT INTO "agents" VALUES('aaaaaaaaaaaaaaa1','deadbeef','amber','manager',NULL,'mend the login''s "remember me"
and say so: œ 🧵','standin',NULL,'live','agent/amber','/home/ann/.local/state/windlass/workspaces/deadbeef/amber','4b825dc642cb6eb9a060e54bf8d69288fbee4904','main','{"allow":["Bash(make *)"],"deny":["WebFetch"],"yolo":false}',NULL,'{"config_dir":"/home/ann/.claude"}','/home/ann/old.jsonl','{"turns":7,"usd":2.5}','hooks','host',1,NULL,'0f0e0d0c-0b0a-4908-8706-050403020100',1,'running',1790000003.0,1790000001.0,NULL,NULL,1,0,0,'','');
INSERT INTO "agents" VALUES('aaaaaaaaaaaaaaa2','deadbeef','birch','worker','aaaaaaaaaaaaaaa1','mend the login''s "remember me"
and say so: œ 🧵','standin','small','headless','agent/birch','/home/ann/.local/state/windlass/workspaces/deadbeef/birch','4b825dc642cb6eb9a060e54bf8d69288fbee4904','main','{"allow":["Bash(make *)"],"deny":["WebFetch"],"yolo":false}','say: done','{}',NULL,'{}','box','none',2,NULL,'0f0e0d0c-0b0a-4908-8706-050403020100',2,'waiting',1790000003.0,1790000001.0,NULL,NULL,0,0,0,'API-1','job-1');
INSERT INTO "agents" VALUES('aaaaaaaaaaaaaaa3','0badcafe','cedar','worker',NULL,'mend the login''s "remember me"
and say so: œ 🧵','standin',NULL,'live',NULL,'/home/ann/.local/state/windlass/workspaces/0badcafe/cedar','4b825dc642cb6eb9a060e54bf8d69288fbee4904','main','{"allow":["Bash(make *)"],"deny":["WebFetch"],"yolo":false}',NULL,'{}',NULL,'{}','hooks','host',0,'/home/ann/archive/cedar','0f0e0d0c-0b0a-4908-8706-050403020100',0,'running',1790000003.0,1790000001.0,1790000099.0,'user',0,0,0,'','');
CREATE TABLE changes (
	repo VARCHAR(8) NOT NULL, 
	number INTEGER NOT NULL, 
	id VARCHAR(16) NOT NULL, 
	target TEXT NOT NULL, 
	branch TEXT NOT NULL, 
	head VARCHAR(64) NOT NULL, 
	title TEXT NOT NULL, 
	task VARCHAR(24) NOT NULL, 
	needs JSON NOT NULL, 
	revision INTEGER NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	why TEXT NOT NULL, 
	author VARCHAR(16), 
	guards JSON NOT NULL, 
	edits JSON NOT NULL, 
	approval JSON, 
	seen VARCHAR(64) NOT NULL, 
	blocked TEXT NOT NULL, 
	attempts INTEGER NOT NULL, 
	alone BOOLEAN NOT NULL, 
	ends BOOLEAN NOT NULL, 
	deletes BOOLEAN NOT NULL, 
	unattended BOOLEAN NOT NULL, 
	reverts VARCHAR(16), 
	orphaned BOOLEAN NOT NULL, 
	past JSON NOT NULL, 
	ticket JSON, 
	was VARCHAR(64), 
	"commit" VARCHAR(64), 
	tree VARCHAR(64), 
	verdict TEXT NOT NULL, 
	usd FLOAT, 
	landed_at FLOAT, 
	created_at FLOAT NOT NULL, 
	updated_at FLOAT NOT NULL, 
	PRIMARY KEY (repo, number)
);
INSERT INTO "changes" VALUES('deadbeef',1,'c1','main','agent/fox','4b825dc642cb6eb9a060e54bf8d69288fbee4904','Mend the till','API-1','[]',1,'rejected','make test failed','0123456789abcdef','["an agent proposed it"]','[]','{"by":"person","at":1790000002.0}','','',1,0,1,0,0,NULL,0,'[]','{"why":"make test failed","base":"","tree":"","outcome":"","command":"","failed":[],"log":"","tail":"","paths":[],"landed":[],"reproduce":""}',NULL,NULL,NULL,'',NULL,NULL,1790000001.0,1790000003.0);
CREATE TABLE events (
	id INTEGER NOT NULL, 
	at FLOAT NOT NULL, 
	repo VARCHAR(8), 
	agent VARCHAR(16), 
	kind VARCHAR(48) NOT NULL, 
	data JSON NOT NULL, subject TEXT, 
	PRIMARY KEY (id)
);
INSERT INTO "events" VALUES(1,1790000001.5,'deadbeef',NULL,'repo.added','{"root":"/home/ann/shop"}',NULL);
INSERT INTO "events" VALUES(2,1790000001.5,'deadbeef','aaaaaaaaaaaaaaa1','agent.created','{"id":"amber"}',NULL);
INSERT INTO "events" VALUES(3,1790000001.5,'deadbeef','aaaaaaaaaaaaaaa1','agent.state','{"was":"creating","now":"running","how":"hook"}',NULL);
INSERT INTO "events" VALUES(4,1790000001.5,NULL,NULL,'daemon.started','{}',NULL);
CREATE TABLE intents (
	id VARCHAR(64) NOT NULL, 
	kind VARCHAR(32) NOT NULL, 
	repo VARCHAR(8) NOT NULL, 
	caller VARCHAR(16), 
	data JSON NOT NULL, 
	step INTEGER NOT NULL, 
	status VARCHAR(16) NOT NULL, 
	result JSON, 
	error JSON, 
	undone_by VARCHAR(64), 
	created_at FLOAT NOT NULL, 
	updated_at FLOAT NOT NULL, done JSON DEFAULT '[]' NOT NULL, version INTEGER DEFAULT '1' NOT NULL, tries INTEGER DEFAULT '0' NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "intents" VALUES('key-0','spawn','deadbeef',NULL,'{"uids":["aaaaaaaaaaaaaaa2"],"n":0}',4,'done','{"agent":"amber"}','null',NULL,1790000000.0,1790000000.5,'[]',1,2);
INSERT INTO "intents" VALUES('key-1','end','deadbeef','aaaaaaaaaaaaaaa1','{"uids":["aaaaaaaaaaaaaaa2"],"n":1}',2,'open','null','null',NULL,1790000001.0,1790000001.5,'[]',1,0);
INSERT INTO "intents" VALUES('key-2','merge','deadbeef','aaaaaaaaaaaaaaa1','{"uids":["aaaaaaaaaaaaaaa2"],"n":2}',1,'failed','null','{"kind":"git","message":"no room"}',NULL,1790000002.0,1790000002.5,'[]',1,0);
CREATE TABLE jobs (
	id VARCHAR(24) NOT NULL, 
	kind VARCHAR(32) NOT NULL, 
	subject TEXT NOT NULL, 
	repo VARCHAR(8) NOT NULL, 
	state JSON NOT NULL, 
	version INTEGER NOT NULL, 
	sequence INTEGER NOT NULL, 
	cursor BIGINT NOT NULL, 
	wake_at FLOAT, 
	status VARCHAR(16) NOT NULL, 
	result JSON, 
	error JSON, 
	host VARCHAR(64), 
	generation INTEGER NOT NULL, 
	lease_until FLOAT, 
	tries INTEGER NOT NULL, 
	created_at FLOAT NOT NULL, 
	updated_at FLOAT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "jobs" VALUES('job-7','gate','tree:4b825dc642cb','deadbeef','{"step":"checks"}',1,3,512,1790000000.5,'open',NULL,NULL,'host-a',4,1790000060.0,1,1789999000.0,1789999900.0);
CREATE TABLE kept (
	agent VARCHAR(16) NOT NULL, 
	home BIGINT NOT NULL, 
	tip VARCHAR(64) NOT NULL, 
	last BIGINT NOT NULL, 
	store BIGINT NOT NULL, 
	PRIMARY KEY (agent)
);
INSERT INTO "kept" VALUES('aaaaaaaaaaaaaaa2',4096,'4b825dc642cb6eb9a060e54bf8d69288fbee4904',512,9000);
CREATE TABLE messages (
	number INTEGER NOT NULL, 
	id VARCHAR(24) NOT NULL, 
	repo VARCHAR(8) NOT NULL, 
	sender VARCHAR(16) NOT NULL, 
	sender_id VARCHAR(48) NOT NULL, 
	recipient VARCHAR(16) NOT NULL, 
	recipient_id VARCHAR(48) NOT NULL, 
	kind VARCHAR(16) NOT NULL, 
	urgent BOOLEAN NOT NULL, 
	body TEXT NOT NULL, 
	topic VARCHAR(64), 
	reply_to VARCHAR(24), 
	state VARCHAR(16) NOT NULL, 
	reason TEXT NOT NULL, 
	survivor VARCHAR(24), 
	route VARCHAR(16), 
	offer JSON, 
	created_at FLOAT NOT NULL, 
	expires_at FLOAT, 
	delivered_at FLOAT, 
	read_at FLOAT, 
	acked_at FLOAT, 
	ended_at FLOAT, 
	PRIMARY KEY (number), 
	UNIQUE (id)
);
INSERT INTO "messages" VALUES(1,'msg-0000000001','deadbeef','user','user','aaaaaaaaaaaaaaa1','amber','note',1,'it''s "urgent"
🧵','login',NULL,'queued','',NULL,NULL,NULL,1790000005.0,1790000500.0,NULL,NULL,NULL,NULL);
INSERT INTO "messages" VALUES(2,'msg-0000000002','deadbeef','aaaaaaaaaaaaaaa1','amber','user','user','question',0,'which one?',NULL,'msg-0000000001','acked','',NULL,NULL,NULL,1790000006.0,NULL,1790000007.0,1790000008.0,1790000009.0,NULL);
INSERT INTO "messages" VALUES(3,'msg-0000000003','deadbeef','windlass','windlass','aaaaaaaaaaaaaaa2','birch','note',0,'go on',NULL,NULL,'queued','',NULL,NULL,'{"route":"stdin","session":2,"at":1790000007.0,"path":"/home/ann/talk.jsonl","offset":77}',1790000007.0,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE notices (
	number INTEGER NOT NULL, 
	repo VARCHAR(8) NOT NULL, 
	at FLOAT NOT NULL, 
	sender VARCHAR(48) NOT NULL, 
	type VARCHAR(16) NOT NULL, 
	text TEXT NOT NULL, 
	message VARCHAR(24), 
	taken_at FLOAT, 
	taken_by VARCHAR(16), 
	PRIMARY KEY (number)
);
INSERT INTO "notices" VALUES(1,'deadbeef',1790000006.0,'birch','state','birch waits',NULL,NULL,NULL);
INSERT INTO "notices" VALUES(2,'deadbeef',1790000006.0,'amber','question','which one?','msg-0000000002',1790000006.0,'user');
CREATE TABLE observations (
	agent VARCHAR(16) NOT NULL, 
	source VARCHAR(16) NOT NULL, 
	session INTEGER NOT NULL, 
	value VARCHAR(16) NOT NULL, 
	at FLOAT NOT NULL, 
	evidence TEXT NOT NULL, reason JSON, 
	PRIMARY KEY (agent, source), 
	FOREIGN KEY(agent) REFERENCES agents (uid)
);
INSERT INTO "observations" VALUES('aaaaaaaaaaaaaaa1','hook',1,'running',1790000003.0,'PreToolUse','{"kind":"tool_called","tool":"Bash"}');
INSERT INTO "observations" VALUES('aaaaaaaaaaaaaaa2','process',2,'waiting',1790000004.0,'it''s idle',NULL);
CREATE TABLE repos (
	id VARCHAR(8) NOT NULL, 
	root TEXT NOT NULL, 
	git_dir TEXT NOT NULL, 
	added_at FLOAT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (git_dir)
);
INSERT INTO "repos" VALUES('deadbeef','/home/ann/shop','/home/ann/shop/.git',1790000001.5);
INSERT INTO "repos" VALUES('0badcafe','/home/ann/bank','/home/ann/bank/.git',1790000001.5);
CREATE TABLE schema_version (
	version INTEGER
);
INSERT INTO "schema_version" VALUES(13);
CREATE TABLE sessions (
	agent VARCHAR(16) NOT NULL, 
	number INTEGER NOT NULL, 
	marker VARCHAR(36) NOT NULL, 
	started_at FLOAT, 
	ended_at FLOAT, 
	exit_code INTEGER, 
	events_offset INTEGER NOT NULL, 
	marks JSON DEFAULT '{}' NOT NULL, part JSON, mode VARCHAR(16) DEFAULT '' NOT NULL, credential TEXT DEFAULT '' NOT NULL, 
	PRIMARY KEY (agent, number), 
	FOREIGN KEY(agent) REFERENCES agents (uid), 
	UNIQUE (marker)
);
INSERT INTO "sessions" VALUES('aaaaaaaaaaaaaaa1',1,'m-amber-1',1790000002.0,NULL,NULL,512,'{"output":4096,"costs":{"files":{"a.jsonl":12}}}',NULL,'live','');
INSERT INTO "sessions" VALUES('aaaaaaaaaaaaaaa2',1,'m-birch-1',1790000002.0,1790000008.0,137,0,'{}',NULL,'headless','');
INSERT INTO "sessions" VALUES('aaaaaaaaaaaaaaa2',2,'m-birch-2',NULL,NULL,NULL,0,'{}','{"run":"job-1","step":"execution","label":"execution","visit":1,"role":"worker","conversation":"0f0e0d0c-0b0a-4908-8706-050403020100"}','headless','');
CREATE TABLE usage (
	agent VARCHAR(16) NOT NULL, 
	session INTEGER NOT NULL, 
	day VARCHAR(10) NOT NULL, 
	model VARCHAR(128) NOT NULL, 
	source VARCHAR(16) NOT NULL, 
	input_tokens BIGINT NOT NULL, 
	output_tokens BIGINT NOT NULL, 
	cache_creation_input_tokens BIGINT NOT NULL, 
	cache_read_input_tokens BIGINT NOT NULL, 
	cost FLOAT NOT NULL, 
	notional BOOLEAN NOT NULL, 
	PRIMARY KEY (agent, session, day, model, source), 
	FOREIGN KEY(agent) REFERENCES agents (uid)
);
INSERT INTO "usage" VALUES('aaaaaaaaaaaaaaa2',1,'2026-09-21','small','transcript',1000,20,0,0,0.25,0);
INSERT INTO "usage" VALUES('aaaaaaaaaaaaaaa2',1,'2026-09-21','small','result',1000,20,0,0,0.125,1);
CREATE TABLE verdicts (
	id INTEGER NOT NULL, 
	repo VARCHAR(8) NOT NULL, 
	tree VARCHAR(64) NOT NULL, 
	"check" TEXT NOT NULL, 
	check_key VARCHAR(16) NOT NULL, 
	layer VARCHAR(16) NOT NULL, 
	box VARCHAR(16) NOT NULL, 
	versions VARCHAR(16) NOT NULL, 
	outcome VARCHAR(16) NOT NULL, 
	code INTEGER, 
	seconds FLOAT NOT NULL, 
	tests INTEGER, 
	skipped INTEGER, 
	failed JSON NOT NULL, 
	why TEXT NOT NULL, 
	log TEXT NOT NULL, 
	host VARCHAR(64) NOT NULL, 
	at FLOAT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "verdicts" VALUES(1,'deadbeef','4b825dc642cb6eb9a060e54bf8d69288fbee4904','tests — ünit','0123456789abcdef','fedcba9876543210','box','00ff00ff00ff00ff','failed',1,31.25,214,2,'["tests/test_login.py::test_it''s"]','1 of 214 failed','/home/ann/.local/state/windlass/gate/7.log','host-a',1789999950.0);
CREATE INDEX events_of_an_agent ON events (agent, id);
CREATE INDEX events_of_a_repo ON events (repo, id);
CREATE UNIQUE INDEX one_live_agent_per_id ON agents (repo, id) WHERE ended_at IS NULL
;
CREATE INDEX messages_to_somebody ON messages (recipient, state, number);
CREATE INDEX messages_from_somebody ON messages (sender, created_at);
CREATE INDEX messages_by_state ON messages (state, expires_at);
CREATE INDEX notices_of_a_repo ON notices (repo, taken_at, number);
CREATE INDEX events_of_a_subject ON events (subject, id) WHERE subject IS NOT NULL
;
CREATE INDEX intents_by_status_and_age ON intents (status, updated_at);
CREATE INDEX jobs_about_something ON jobs (repo, kind, subject);
CREATE INDEX jobs_by_status_and_age ON jobs (status, updated_at);
CREATE INDEX verdicts_by_age ON verdicts (at);
CREATE INDEX verdicts_of_a_tree ON verdicts (repo, tree, check_key);
CREATE INDEX changes_by_state ON changes (repo, state);
CREATE UNIQUE INDEX one_open_run_per_task ON jobs (repo, kind, subject) WHERE status = 'open' AND kind IN ('run', 'schedule');
COMMIT;
