BEGIN TRANSACTION;
CREATE TABLE command (
    id integer primary key autoincrement,
    run_id text not null,
    kind text not null,
    reason text,
    created_at real not null,
    done_at real
, refusal text) strict;
CREATE TABLE duty (
    name text primary key,
    session text not null,
    begun_at real not null
) strict;
CREATE TABLE history (
    run_id text not null,
    seq integer not null,
    part integer not null default 0,
    at real not null,
    pos integer not null,
    old text,
    new text not null,
    attempt integer not null,
    detail text,
    primary key (run_id, seq, part)
) strict, without rowid;
INSERT INTO "history" VALUES('01a1e941-d320-7611-b0b2-56f1e0f86fd4',0,0,1.79491476766032767293e+09,-1,NULL,'running',0,NULL);
INSERT INTO "history" VALUES('01a1e941-d320-7611-b0b2-56f1e0f86fd4',1,0,1.79491476766032767293e+09,0,'pending','ready',0,NULL);
INSERT INTO "history" VALUES('01a1e941-d320-7611-b0b2-56f1e0f86fd4',2,0,1.79491476766032767293e+09,0,'ready','running',1,'{"executor":"default","reason":"default executor"}');
INSERT INTO "history" VALUES('01a1e941-d320-7611-b0b2-56f1e0f86fd4',3,0,1.79491476767098522187e+09,0,'running','completed',1,NULL);
INSERT INTO "history" VALUES('01a1e941-d320-7611-b0b2-56f1e0f86fd4',4,0,1.79491476767098522187e+09,1,'pending','ready',0,NULL);
INSERT INTO "history" VALUES('01a1e941-d320-7611-b0b2-56f1e0f86fd4',5,0,1.79491476767098522187e+09,1,'ready','running',1,'{"executor":"default","reason":"default executor"}');
INSERT INTO "history" VALUES('01a1e941-d331-7bb2-9d56-95017a004229',0,0,1.79491476767520403857e+09,-1,NULL,'running',0,NULL);
INSERT INTO "history" VALUES('01a1e941-d331-7bb2-9d56-95017a004229',1,0,1.79491476767520403857e+09,0,'pending','ready',0,NULL);
INSERT INTO "history" VALUES('01a1e941-d331-7bb2-9d56-95017a004229',2,0,1.79491476767520403857e+09,0,'ready','running',1,'{"executor":"default","reason":"default executor"}');
INSERT INTO "history" VALUES('01a1e941-d331-7bb2-9d56-95017a004229',3,0,1.79491476768173933032e+09,0,'running','completed',1,NULL);
INSERT INTO "history" VALUES('01a1e941-d331-7bb2-9d56-95017a004229',4,0,1.79491476768173933032e+09,1,'pending','ready',0,NULL);
INSERT INTO "history" VALUES('01a1e941-d331-7bb2-9d56-95017a004229',5,0,1.79491476768173933032e+09,1,'ready','running',1,'{"executor":"default","reason":"default executor"}');
INSERT INTO "history" VALUES('01a1e941-d33f-7d5f-926f-3cb12efbd38f',0,0,1.79491476768046069145e+09,-1,NULL,'running',0,NULL);
INSERT INTO "history" VALUES('01a1e941-d33f-7d5f-926f-3cb12efbd38f',1,0,1.79491476768046069145e+09,0,'pending','ready',0,NULL);
INSERT INTO "history" VALUES('01a1e941-d33f-7d5f-926f-3cb12efbd38f',2,0,1.79491476768046069145e+09,0,'ready','running',1,'{"executor":"default","reason":"default executor"}');
INSERT INTO "history" VALUES('01a1e941-d33f-7d5f-926f-3cb12efbd38f',3,0,1.79491476769095230098e+09,0,'running','completed',1,NULL);
INSERT INTO "history" VALUES('01a1e941-d33f-7d5f-926f-3cb12efbd38f',4,0,1.79491476769095230098e+09,1,'pending','ready',0,NULL);
INSERT INTO "history" VALUES('01a1e941-d33f-7d5f-926f-3cb12efbd38f',5,0,1.79491476769095230098e+09,1,'ready','running',1,'{"executor":"default","reason":"default executor"}');
INSERT INTO "history" VALUES('01a1e941-d347-7dc7-a756-3aaf9cf9c16c',0,0,1.79491476769806098941e+09,-1,NULL,'running',0,NULL);
INSERT INTO "history" VALUES('01a1e941-d347-7dc7-a756-3aaf9cf9c16c',1,0,1.79491476769806098941e+09,0,'pending','ready',0,NULL);
INSERT INTO "history" VALUES('01a1e941-d347-7dc7-a756-3aaf9cf9c16c',2,0,1.79491476769806098941e+09,0,'ready','running',1,'{"executor":"default","reason":"default executor"}');
INSERT INTO "history" VALUES('01a1e941-d347-7dc7-a756-3aaf9cf9c16c',3,0,1.7949147677212080956e+09,0,'running','ready',1,'{"status":"retry","reason":"retry_at","error":"ValueError: the first attempt fails","traceback":"Traceback (most recent call last):\n  File \"/app/tests/acceptance/upgrade/flows.py\", line 46, in fails_first\n    raise ValueError(\"the first attempt fails\")\nValueError: the first attempt fails\n","retry_in":20.0}');
INSERT INTO "history" VALUES('01a1e941-d35c-7aa7-a1e1-973b80913004',0,0,1.79491476773100233077e+09,-1,NULL,'running',0,NULL);
INSERT INTO "history" VALUES('01a1e941-d35c-7aa7-a1e1-973b80913004',1,0,1.79491476773100233077e+09,0,'pending','ready',0,NULL);
INSERT INTO "history" VALUES('01a1e941-d35c-7aa7-a1e1-973b80913004',2,0,1.79491476773100233077e+09,0,'ready','running',1,'{"executor":"default","reason":"default executor"}');
INSERT INTO "history" VALUES('01a1e941-d35c-7aa7-a1e1-973b80913004',3,0,1.79491476774571084981e+09,0,'running','completed',1,NULL);
INSERT INTO "history" VALUES('01a1e941-d35c-7aa7-a1e1-973b80913004',4,0,1.79491476774571084981e+09,1,'pending','ready',0,NULL);
INSERT INTO "history" VALUES('01a1e941-d35c-7aa7-a1e1-973b80913004',5,0,1.79491476774571084981e+09,1,'ready','running',1,'{"reason":"mapped"}');
INSERT INTO "history" VALUES('01a1e941-d35c-7aa7-a1e1-973b80913004',6,0,1.79491476774571084981e+09,2,'pending','ready',0,NULL);
INSERT INTO "history" VALUES('01a1e941-d35c-7aa7-a1e1-973b80913004',7,0,1.79491476774571084981e+09,3,'pending','ready',0,NULL);
INSERT INTO "history" VALUES('01a1e941-d35c-7aa7-a1e1-973b80913004',8,0,1.79491476774571084981e+09,4,'pending','ready',0,NULL);
INSERT INTO "history" VALUES('01a1e941-d35c-7aa7-a1e1-973b80913004',9,0,1.79491476774571084981e+09,5,'pending','ready',0,NULL);
INSERT INTO "history" VALUES('01a1e941-d35c-7aa7-a1e1-973b80913004',10,0,1.79491476774571084981e+09,2,'ready','running',1,'{"executor":"default","reason":"default executor"}');
INSERT INTO "history" VALUES('01a1e941-d35c-7aa7-a1e1-973b80913004',11,0,1.79491476774571084981e+09,3,'ready','running',1,'{"executor":"default","reason":"default executor"}');
INSERT INTO "history" VALUES('01a1e941-d35c-7aa7-a1e1-973b80913004',12,0,1.79491476774571084981e+09,4,'ready','running',1,'{"executor":"default","reason":"default executor"}');
INSERT INTO "history" VALUES('01a1e941-d35c-7aa7-a1e1-973b80913004',13,0,1.79491476774571084981e+09,5,'ready','running',1,'{"executor":"default","reason":"default executor"}');
INSERT INTO "history" VALUES('01a1e941-d37f-7c5b-84da-1c252613b5ac',0,0,1.79491476775917482375e+09,-1,NULL,'running',0,NULL);
INSERT INTO "history" VALUES('01a1e941-d37f-7c5b-84da-1c252613b5ac',1,0,1.79491476775917482375e+09,0,'pending','ready',0,NULL);
INSERT INTO "history" VALUES('01a1e941-d37f-7c5b-84da-1c252613b5ac',2,0,1.79491476775917482375e+09,0,'ready','running',1,'{"executor":"default","reason":"default executor"}');
INSERT INTO "history" VALUES('01a1e941-d37f-7c5b-84da-1c252613b5ac',3,0,1.79491476776701927185e+09,0,'running','completed',1,'{"chosen":["left"]}');
INSERT INTO "history" VALUES('01a1e941-d37f-7c5b-84da-1c252613b5ac',4,0,1.79491476776701927185e+09,2,'pending','skipped',0,'{"reason":"not_chosen:choose"}');
INSERT INTO "history" VALUES('01a1e941-d37f-7c5b-84da-1c252613b5ac',5,0,1.79491476776701927185e+09,1,'pending','ready',0,NULL);
INSERT INTO "history" VALUES('01a1e941-d37f-7c5b-84da-1c252613b5ac',6,0,1.79491476776701927185e+09,1,'ready','running',1,'{"executor":"default","reason":"default executor"}');
INSERT INTO "history" VALUES('01a1e941-d394-7815-b3cd-2b731cd2b2c2',0,0,1.79491476777933192253e+09,-1,NULL,'running',0,NULL);
INSERT INTO "history" VALUES('01a1e941-d394-7815-b3cd-2b731cd2b2c2',1,0,1.79491476777933192253e+09,0,'pending','ready',0,NULL);
INSERT INTO "history" VALUES('01a1e941-d394-7815-b3cd-2b731cd2b2c2',2,0,1.79491476777933192253e+09,0,'ready','running',1,'{"executor":"default","reason":"default executor"}');
INSERT INTO "history" VALUES('01a1e941-d394-7815-b3cd-2b731cd2b2c2',3,0,1.79491476779254460335e+09,0,'running','ready',1,'{"status":"deferred","reason":"deferred","retry_in":20.0}');
INSERT INTO "history" VALUES('01a1e941-d3ab-7aab-9a6a-a9aed226e618',0,0,1.7949147678037669658e+09,-1,NULL,'running',0,NULL);
INSERT INTO "history" VALUES('01a1e941-d3ab-7aab-9a6a-a9aed226e618',1,0,1.7949147678037669658e+09,0,'pending','ready',0,NULL);
INSERT INTO "history" VALUES('01a1e941-d3ab-7aab-9a6a-a9aed226e618',2,0,1.7949147678037669658e+09,0,'ready','running',1,'{"executor":"child","reason":"child run 01a1e941-d3ab-827d-9db8-e95bf989c890"}');
INSERT INTO "history" VALUES('01a1e941-d3ab-827d-9db8-e95bf989c890',0,0,1.79491476782483029366e+09,-1,NULL,'running',0,NULL);
INSERT INTO "history" VALUES('01a1e941-d3ab-827d-9db8-e95bf989c890',1,0,1.79491476782483029366e+09,0,'pending','ready',0,NULL);
INSERT INTO "history" VALUES('01a1e941-d3ab-827d-9db8-e95bf989c890',2,0,1.79491476782483029366e+09,0,'ready','running',1,'{"executor":"default","reason":"default executor"}');
INSERT INTO "history" VALUES('01a1e941-d3bd-75b4-932c-8c1771f4cb83',0,0,1.79491476780610537521e+09,-1,NULL,'running',0,NULL);
INSERT INTO "history" VALUES('01a1e941-d3bd-75b4-932c-8c1771f4cb83',1,0,1.79491476780610537521e+09,0,'pending','ready',0,NULL);
INSERT INTO "history" VALUES('01a1e941-d3bd-75b4-932c-8c1771f4cb83',2,0,1.79491476780610537521e+09,0,'ready','running',1,'{"executor":"default","reason":"default executor"}');
INSERT INTO "history" VALUES('01a1e941-d3bd-75b4-932c-8c1771f4cb83',3,0,1.79491476781901025767e+09,0,'running','completed',1,NULL);
INSERT INTO "history" VALUES('01a1e941-d3bd-75b4-932c-8c1771f4cb83',4,0,1.79491476781901025767e+09,1,'pending','ready',0,NULL);
INSERT INTO "history" VALUES('01a1e941-d3bd-75b4-932c-8c1771f4cb83',5,0,1.79491476781901025767e+09,1,'ready','running',1,'{"executor":"default","reason":"default executor"}');
INSERT INTO "history" VALUES('01a1e941-d3bd-75b4-932c-8c1771f4cb83',6,0,1.79491476786408734322e+09,-1,'running','paused',0,'{"reason":"paused"}');
CREATE TABLE inbox (
    id integer primary key autoincrement,
    run_id text not null,
    pos integer not null,
    attempt integer not null,
    holder text not null,
    result text not null,
    created_at real not null,
    unique (run_id, pos, attempt)
) strict;
CREATE TABLE log (
    id integer primary key autoincrement,
    run_id text not null,
    pos integer not null,
    attempt integer not null,
    seq integer not null,
    stream text not null,
    at real not null,
    text text not null,
    unique (run_id, pos, attempt, seq)
) strict;
CREATE TABLE migration (number integer primary key, checksum text not null, applied_at real not null) strict;
INSERT INTO "migration" VALUES(1,'5c0c00594079c98850f6dfad70429310bd6d525fc0624f44343ea65efa8b2d8c',1.79491476760784530639e+09);
INSERT INTO "migration" VALUES(2,'a2cfb13aa240b3ac22bf7df00dfb54cac0d800d0d9c4048fd75a3c3ff3ccea40',1.79491476761240935323e+09);
INSERT INTO "migration" VALUES(3,'9b54de8050d3caaf5cc5f99af7d96cbbeb5922afc5e3e15dd073068d9ddd136a',1.79491476761277198798e+09);
INSERT INTO "migration" VALUES(4,'4dfebc4372e385c9fb6bde0b1ce3afcac165cbc5b22f4488c3accb3da3bb557a',1.79491476761341023447e+09);
INSERT INTO "migration" VALUES(5,'ceb05520af26839c04e7903b208fe00d833e9a1fea0f6ef95e4d6d3a09259fb8',1.79491476761393046381e+09);
INSERT INTO "migration" VALUES(6,'0559e60e0c24668ba06de3c99b07dba0373354dcd9d5cc8ffb2f73e71f030324',1.79491476761418104171e+09);
INSERT INTO "migration" VALUES(7,'b378c8c30118dd4e13fe3ccfc1a2e3d8d24d047499eaecdaac8a7b56f8ed9f8b',1.79491476761441731452e+09);
INSERT INTO "migration" VALUES(8,'692507de25cc3b281c9feda3428606a89d99cae2644a8c6c8d38956b02bdcfea',1.79491476761448264117e+09);
INSERT INTO "migration" VALUES(9,'ad9dd8b025ed1a609d2a75181df7bd905633497be2dc7f71d98a06b50e625681',1.79491476761475563048e+09);
CREATE TABLE routing (
    number integer primary key autoincrement,
    session text not null,
    config text not null,
    created_at real not null
) strict;
CREATE TABLE run (
    id text primary key,
    workflow text not null,
    version text not null,
    state text not null check (state in
        ('pending', 'running', 'paused', 'cancelling', 'completed', 'failed', 'cancelled')),
    owner text,
    epoch integer not null,
    seq integer not null,
    input text not null,
    input_digest text not null,
    key text,
    priority integer not null,
    timeout real,
    reason text,
    error text,
    rerun_of text,
    parent_run text,
    parent_pos integer,
    created_at real not null,
    submitted_at real not null,
    started_at real,
    finished_at real
, parent_attempt integer not null default 0, depth integer not null default 0) strict;
INSERT INTO "run" VALUES('01a1e941-d320-7611-b0b2-56f1e0f86fd4','public::embedded::chain','fccb95a7ffa23c15ab25d4a5ea65ab05','running','18dfb332-aa14-4add-a734-2936b8f5f2ba',1,2,'{"number":0}','',NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,1.79491476764838099478e+09,1.79491476766032767293e+09,1.79491476765912055966e+09,NULL,0,0);
INSERT INTO "run" VALUES('01a1e941-d331-7bb2-9d56-95017a004229','public::embedded::chain','fccb95a7ffa23c15ab25d4a5ea65ab05','running','18dfb332-aa14-4add-a734-2936b8f5f2ba',1,2,'{"number":1}','',NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,1.79491476766593265534e+09,1.79491476767520403857e+09,1.79491476767190217969e+09,NULL,0,0);
INSERT INTO "run" VALUES('01a1e941-d33f-7d5f-926f-3cb12efbd38f','public::embedded::chain','fccb95a7ffa23c15ab25d4a5ea65ab05','running','18dfb332-aa14-4add-a734-2936b8f5f2ba',1,2,'{"number":2}','',NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,1.79491476767948222167e+09,1.79491476768046069145e+09,1.79491476767997717861e+09,NULL,0,0);
INSERT INTO "run" VALUES('01a1e941-d347-7dc7-a756-3aaf9cf9c16c','public::embedded::retried','d3fe87ecf0faa723cd7f764ba7a057ea','running','18dfb332-aa14-4add-a734-2936b8f5f2ba',1,2,'{"number":5}','',NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,1.79491476768703055386e+09,1.79491476769806098941e+09,1.79491476769780063625e+09,NULL,0,0);
INSERT INTO "run" VALUES('01a1e941-d35c-7aa7-a1e1-973b80913004','public::embedded::mapped','546c0672a15225eba8e33e27f6d2e45b','running','18dfb332-aa14-4add-a734-2936b8f5f2ba',1,2,'{"count":4}','',NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,1.79491476770833349231e+09,1.79491476773100233077e+09,1.79491476772224378593e+09,NULL,0,0);
INSERT INTO "run" VALUES('01a1e941-d37f-7c5b-84da-1c252613b5ac','public::embedded::branched','7aad7aa7b4885176da79208109a9ac67','running','18dfb332-aa14-4add-a734-2936b8f5f2ba',1,2,'{"number":3}','',NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,1.79491476774356889731e+09,1.79491476775917482375e+09,1.79491476775516343123e+09,NULL,0,0);
INSERT INTO "run" VALUES('01a1e941-d394-7815-b3cd-2b731cd2b2c2','public::embedded::deferred','8c55adfcdb08d10bd4de551d8a8299a6','running','18dfb332-aa14-4add-a734-2936b8f5f2ba',1,2,'{}','',NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,1794914767.7642,1.79491476777933192253e+09,1.79491476777905392646e+09,NULL,0,0);
INSERT INTO "run" VALUES('01a1e941-d3ab-7aab-9a6a-a9aed226e618','public::embedded::outer','e5e5e6a580e006ae86becd0f8df9f41d','running','18dfb332-aa14-4add-a734-2936b8f5f2ba',1,2,'{"number":7}','',NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,1.79491476778735637668e+09,1.7949147678037669658e+09,1.79491476780324840547e+09,NULL,0,0);
INSERT INTO "run" VALUES('01a1e941-d3bd-75b4-932c-8c1771f4cb83','public::embedded::chain','fccb95a7ffa23c15ab25d4a5ea65ab05','paused','18dfb332-aa14-4add-a734-2936b8f5f2ba',1,6,'{"number":100}','',NULL,0,NULL,'paused',NULL,NULL,NULL,NULL,1.79491476780563306804e+09,1.79491476780610537521e+09,1.79491476780582904821e+09,NULL,0,0);
INSERT INTO "run" VALUES('01a1e941-d3ab-827d-9db8-e95bf989c890','public::embedded::inner','f023365f15d4d387753a39ec3654381a','running','18dfb332-aa14-4add-a734-2936b8f5f2ba',1,2,'{"number":7}','',NULL,0,NULL,NULL,NULL,NULL,'01a1e941-d3ab-7aab-9a6a-a9aed226e618',0,1.79491476780525207514e+09,1.79491476782483029366e+09,1.79491476782455134392e+09,NULL,1,1);
CREATE TABLE run_number (
    number integer primary key autoincrement,
    run_id text not null unique
) strict;
CREATE TABLE session (
    id text primary key,
    kind text not null,
    host text not null,
    boot_id text not null,
    pid_namespace text not null,
    pid integer not null,
    process_started text not null,
    workflows text not null,
    health text,
    lease real not null,
    lease_until real not null,
    lease_boot text not null,
    started_at real not null,
    ended_at real
, drain text, key text) strict;
INSERT INTO "session" VALUES('18dfb332-aa14-4add-a734-2936b8f5f2ba','orchestrator','host','00000000-0000-0000-0000-000000000000','pid:[4026531836]',28653,'85819','["public::embedded::deferred","public::embedded::inner","public::embedded::outer","public::embedded::branched","public::embedded::chain","public::embedded::retried","public::embedded::mapped"]','{"at":1794914770.1503918,"age_seconds":0.49476268199998685,"uptime_seconds":2.513589201000059,"owned_runs":10,"pools":{"task_request_processor":{"executors":2,"healthy":2,"min_executors":2,"max_executors":4,"utilisation":0.03502492988208287,"throughput":3.979411690675964,"items":10,"batches":10,"busy_seconds":0.17603069299991603,"stage_executors":[{"id":"task_request_processor-0bdc76d6","state_seconds":1.5119939980000936,"items":4,"items_per_second":1.5917646762703856,"average_seconds":0.01919957650000015,"error_rate":0.0,"busy_seconds":0.0767983060000006},{"id":"task_request_processor-81dd4bc5","state_seconds":1.5119971479999776,"items":6,"items_per_second":2.3876470144055784,"average_seconds":0.01653873116665257,"error_rate":0.0,"busy_seconds":0.09923238699991543}]},"task_claimer":{"executors":1,"healthy":1,"min_executors":1,"max_executors":1,"utilisation":0.0038848103304136962,"throughput":1.989705845337982,"items":5,"batches":5,"busy_seconds":0.009762273000092136,"stage_executors":[{"id":"task_claimer-eef4b61a","state_seconds":1.5120140359999823,"items":5,"items_per_second":1.989705845337982,"average_seconds":0.0019524546000184273,"error_rate":0.0,"busy_seconds":0.009762273000092136}]},"step_enqueuer":{"executors":2,"healthy":2,"min_executors":2,"max_executors":4,"utilisation":0.0,"throughput":0.0,"busy_seconds":0.0,"stage_executors":[{"id":"step_enqueuer-2d14bc83","state_seconds":1.5120255150000048,"items_per_second":0.0,"average_seconds":0.0,"error_rate":0.0,"busy_seconds":0.0},{"id":"step_enqueuer-9526d798","state_seconds":1.5120273949999046,"items_per_second":0.0,"average_seconds":0.0,"error_rate":0.0,"busy_seconds":0.0}]},"step_result_processor":{"executors":2,"healthy":2,"min_executors":2,"max_executors":4,"utilisation":0.016167858241875874,"throughput":3.5814705216083675,"items":9,"batches":9,"busy_seconds":0.08125753000001623,"stage_executors":[{"id":"step_result_processor-8313a51c","state_seconds":1.512034895999932,"items":5,"items_per_second":1.989705845337982,"average_seconds":0.00890094940000381,"error_rate":0.0,"busy_seconds":0.04450474700001905},{"id":"step_result_processor-bc7566f1","state_seconds":1.5120366219999823,"items":4,"items_per_second":1.5917646762703856,"average_seconds":0.009188195749999295,"error_rate":0.0,"busy_seconds":0.03675278299999718}]},"task_finalizer":{"executors":2,"healthy":2,"min_executors":2,"max_executors":4,"utilisation":0.0,"throughput":0.0,"busy_seconds":0.0,"stage_executors":[{"id":"task_finalizer-b9d4fb45","state_seconds":1.512079506999953,"items_per_second":0.0,"average_seconds":0.0,"error_rate":0.0,"busy_seconds":0.0},{"id":"task_finalizer-918ad960","state_seconds":1.5120810990000564,"items_per_second":0.0,"average_seconds":0.0,"error_rate":0.0,"busy_seconds":0.0}]}},"executors":{"default":{"active":10,"capacity":32,"running":10,"async_capacity":512,"executed":8,"failed":1,"seconds":0.0005364418029785156,"attempts_per_second":3.1835293525407713,"spare":30},"process":{"capacity":2,"seconds":0.0,"attempts_per_second":0.0},"shell":{"capacity":32,"seconds":0.0,"attempts_per_second":0.0}},"pool_size":1,"saturation":0.0,"backpressure":1.0,"error_rate":0.0,"commits":19,"memory_bytes":37326848,"cpu_seconds":0.62164025,"cpu_ratio":0.041524217075750686}',15.0,877.311035537,'00000000-0000-0000-0000-000000000000',1.79491476763262581823e+09,NULL,NULL,NULL);
CREATE TABLE task (
    run_id text not null,
    pos integer not null,
    name text not null,
    state text not null,
    epoch integer not null,
    seq integer not null,
    priority integer not null,
    attempt integer not null,
    failures integer not null,
    crashes integer not null,
    losses integer not null,
    reason text,
    retry_at real,
    executor text,
    decision text,
    labels text,
    poll_key text,
    holder text,
    lease_until real,
    lease_boot text,
    output text,
    error text,
    dispatched_at real,
    started_at real,
    finished_at real, memo text, item_of integer, item_index integer,
    primary key (run_id, pos)
) strict;
INSERT INTO "task" VALUES('01a1e941-d320-7611-b0b2-56f1e0f86fd4',1,'stop_here','running',1,5,0,1,0,0,0,NULL,NULL,'default','default executor',NULL,NULL,'18dfb332-aa14-4add-a734-2936b8f5f2ba',NULL,NULL,NULL,NULL,1.79491476766555881497e+09,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "task" VALUES('01a1e941-d320-7611-b0b2-56f1e0f86fd4',2,'double-2','pending',1,0,0,0,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "task" VALUES('01a1e941-d320-7611-b0b2-56f1e0f86fd4',0,'double','completed',1,3,0,1,0,0,0,NULL,NULL,'default','default executor',NULL,NULL,'18dfb332-aa14-4add-a734-2936b8f5f2ba',NULL,NULL,'0',NULL,1.79491476765912055966e+09,1.79491476766525840757e+09,1.79491476766530227656e+09,NULL,NULL,NULL);
INSERT INTO "task" VALUES('01a1e941-d331-7bb2-9d56-95017a004229',1,'stop_here','running',1,5,0,1,0,0,0,NULL,NULL,'default','default executor',NULL,NULL,'18dfb332-aa14-4add-a734-2936b8f5f2ba',NULL,NULL,NULL,NULL,1.79491476768026471137e+09,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "task" VALUES('01a1e941-d331-7bb2-9d56-95017a004229',2,'double-2','pending',1,0,0,0,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "task" VALUES('01a1e941-d331-7bb2-9d56-95017a004229',0,'double','completed',1,3,0,1,0,0,0,NULL,NULL,'default','default executor',NULL,NULL,'18dfb332-aa14-4add-a734-2936b8f5f2ba',NULL,NULL,'2',NULL,1.79491476767190217969e+09,1.79491476767964935304e+09,1.79491476767973136903e+09,NULL,NULL,NULL);
INSERT INTO "task" VALUES('01a1e941-d33f-7d5f-926f-3cb12efbd38f',1,'stop_here','running',1,5,0,1,0,0,0,NULL,NULL,'default','default executor',NULL,NULL,'18dfb332-aa14-4add-a734-2936b8f5f2ba',NULL,NULL,NULL,NULL,1.79491476768728375427e+09,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "task" VALUES('01a1e941-d33f-7d5f-926f-3cb12efbd38f',2,'double-2','pending',1,0,0,0,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "task" VALUES('01a1e941-d33f-7d5f-926f-3cb12efbd38f',0,'double','completed',1,3,0,1,0,0,0,NULL,NULL,'default','default executor',NULL,NULL,'18dfb332-aa14-4add-a734-2936b8f5f2ba',NULL,NULL,'4',NULL,1.79491476767997717861e+09,1.79491476768652629854e+09,1.79491476768655633931e+09,NULL,NULL,NULL);
INSERT INTO "task" VALUES('01a1e941-d347-7dc7-a756-3aaf9cf9c16c',1,'double','pending',1,0,0,0,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "task" VALUES('01a1e941-d347-7dc7-a756-3aaf9cf9c16c',0,'fails_first','ready',1,3,0,1,1,0,0,'retry_at',1.79491478772120809561e+09,'default','default executor',NULL,NULL,NULL,NULL,NULL,NULL,'{"type":"ValueError","message":"the first attempt fails","traceback":"Traceback (most recent call last):\n  File \"/app/tests/acceptance/upgrade/flows.py\", line 46, in fails_first\n    raise ValueError(\"the first attempt fails\")\nValueError: the first attempt fails\n","mro":["builtins.ValueError","builtins.Exception","builtins.BaseException"]}',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "task" VALUES('01a1e941-d35c-7aa7-a1e1-973b80913004',1,'stop_here','running',1,5,0,1,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79491476774398159982e+09,1.79491476774398159982e+09,NULL,NULL,NULL,NULL);
INSERT INTO "task" VALUES('01a1e941-d35c-7aa7-a1e1-973b80913004',0,'numbers','completed',1,3,0,1,0,0,0,NULL,NULL,'default','default executor',NULL,NULL,'18dfb332-aa14-4add-a734-2936b8f5f2ba',NULL,NULL,'[0,1,2,3]',NULL,1.79491476772224378593e+09,1.79491476774011111255e+09,1.79491476774017834662e+09,NULL,NULL,NULL);
INSERT INTO "task" VALUES('01a1e941-d35c-7aa7-a1e1-973b80913004',2,'stop_here[0]','running',1,10,0,1,0,0,0,NULL,NULL,'default','default executor',NULL,NULL,'18dfb332-aa14-4add-a734-2936b8f5f2ba',NULL,NULL,NULL,NULL,1.79491476774398159982e+09,NULL,NULL,NULL,1,0);
INSERT INTO "task" VALUES('01a1e941-d35c-7aa7-a1e1-973b80913004',3,'stop_here[1]','running',1,11,0,1,0,0,0,NULL,NULL,'default','default executor',NULL,NULL,'18dfb332-aa14-4add-a734-2936b8f5f2ba',NULL,NULL,NULL,NULL,1.79491476774398159982e+09,NULL,NULL,NULL,1,1);
INSERT INTO "task" VALUES('01a1e941-d35c-7aa7-a1e1-973b80913004',4,'stop_here[2]','running',1,12,0,1,0,0,0,NULL,NULL,'default','default executor',NULL,NULL,'18dfb332-aa14-4add-a734-2936b8f5f2ba',NULL,NULL,NULL,NULL,1.79491476774398159982e+09,NULL,NULL,NULL,1,2);
INSERT INTO "task" VALUES('01a1e941-d35c-7aa7-a1e1-973b80913004',5,'stop_here[3]','running',1,13,0,1,0,0,0,NULL,NULL,'default','default executor',NULL,NULL,'18dfb332-aa14-4add-a734-2936b8f5f2ba',NULL,NULL,NULL,NULL,1.79491476774398159982e+09,NULL,NULL,NULL,1,3);
INSERT INTO "task" VALUES('01a1e941-d37f-7c5b-84da-1c252613b5ac',1,'left','running',1,6,0,1,0,0,0,NULL,NULL,'default','default executor',NULL,NULL,'18dfb332-aa14-4add-a734-2936b8f5f2ba',NULL,NULL,NULL,NULL,1.79491476776652026173e+09,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "task" VALUES('01a1e941-d37f-7c5b-84da-1c252613b5ac',2,'right','skipped',1,4,0,0,0,0,0,'not_chosen:choose',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1.79491476776652026173e+09,NULL,NULL,NULL);
INSERT INTO "task" VALUES('01a1e941-d37f-7c5b-84da-1c252613b5ac',3,'joined','pending',1,0,0,0,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "task" VALUES('01a1e941-d37f-7c5b-84da-1c252613b5ac',0,'choose','completed',1,3,0,1,0,0,0,NULL,NULL,'default','default executor',NULL,NULL,'18dfb332-aa14-4add-a734-2936b8f5f2ba',NULL,NULL,'3',NULL,1.79491476775516343123e+09,1.79491476776370477682e+09,1.79491476776374602321e+09,'{"chosen":["left"]}',NULL,NULL);
INSERT INTO "task" VALUES('01a1e941-d394-7815-b3cd-2b731cd2b2c2',0,'deferred_once','ready',1,3,0,1,0,0,0,'deferred',1.79491478779254460336e+09,'default','default executor',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"saved":"\"saved before the upgrade\"","deferrals":1}',NULL,NULL);
INSERT INTO "task" VALUES('01a1e941-d3ab-7aab-9a6a-a9aed226e618',1,'double','pending',1,0,0,0,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "task" VALUES('01a1e941-d3ab-7aab-9a6a-a9aed226e618',0,'inner','running',1,2,0,1,0,0,0,NULL,NULL,'child','child run 01a1e941-d3ab-827d-9db8-e95bf989c890',NULL,NULL,'child',NULL,NULL,NULL,NULL,1.79491476780324840547e+09,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "task" VALUES('01a1e941-d3bd-75b4-932c-8c1771f4cb83',1,'stop_here','running',1,5,0,1,0,0,0,NULL,NULL,'default','default executor',NULL,NULL,'18dfb332-aa14-4add-a734-2936b8f5f2ba',NULL,NULL,NULL,NULL,1.79491476781202840802e+09,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "task" VALUES('01a1e941-d3bd-75b4-932c-8c1771f4cb83',2,'double-2','pending',1,0,0,0,0,0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "task" VALUES('01a1e941-d3bd-75b4-932c-8c1771f4cb83',0,'double','completed',1,3,0,1,0,0,0,NULL,NULL,'default','default executor',NULL,NULL,'18dfb332-aa14-4add-a734-2936b8f5f2ba',NULL,NULL,'200',NULL,1.79491476780582904821e+09,1.79491476781154727935e+09,1.79491476781158256536e+09,NULL,NULL,NULL);
INSERT INTO "task" VALUES('01a1e941-d3ab-827d-9db8-e95bf989c890',0,'stop_here','running',1,2,0,1,0,0,0,NULL,NULL,'default','default executor',NULL,NULL,'18dfb332-aa14-4add-a734-2936b8f5f2ba',NULL,NULL,NULL,NULL,1.79491476782455134392e+09,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE workflow (
    version text primary key,
    full_name text not null,
    number integer not null,
    spec text not null,
    created_at real not null, used_at real,
    unique (full_name, number)
) strict;
INSERT INTO "workflow" VALUES('fccb95a7ffa23c15ab25d4a5ea65ab05','public::embedded::chain',1,'{"name":"chain","tasks":[{"name":"double","body":{"kind":"python","ref":"__main__:double"},"full_name":"public::embedded::chain::double","args":[{"type":"param","name":"number","path":[]}],"retry":{"delay":0.0,"jitter":0.0}},{"name":"stop_here","body":{"kind":"python","ref":"__main__:stop_here"},"full_name":"public::embedded::chain::stop_here","args":[{"type":"task","name":"double","path":[]}],"depends_on":["double"],"retry":{"delay":0.0,"jitter":0.0}},{"name":"double-2","body":{"kind":"python","ref":"__main__:double"},"full_name":"public::embedded::chain::double-2","args":[{"type":"task","name":"stop_here","path":[]}],"depends_on":["stop_here"],"retry":{"delay":0.0,"jitter":0.0}}],"params":[{"name":"number","type":"int","schema":{"type":"integer"}}],"result":{"type":"task","name":"double-2","path":[]}}',1.79491476765132522584e+09,1.79491476765574979783e+09);
INSERT INTO "workflow" VALUES('d3fe87ecf0faa723cd7f764ba7a057ea','public::embedded::retried',1,'{"name":"retried","tasks":[{"name":"fails_first","body":{"kind":"python","ref":"__main__:fails_first"},"full_name":"public::embedded::retried::fails_first","args":[{"type":"param","name":"number","path":[]}],"retry":{"attempts":3,"delay":20.0,"jitter":0.0}},{"name":"double","body":{"kind":"python","ref":"__main__:double"},"full_name":"public::embedded::retried::double","args":[{"type":"task","name":"fails_first","path":[]}],"depends_on":["fails_first"],"retry":{"delay":0.0,"jitter":0.0}}],"params":[{"name":"number","type":"int","schema":{"type":"integer"}}],"result":{"type":"task","name":"double","path":[]}}',1.79491476768849253647e+09,1.79491476769581794741e+09);
INSERT INTO "workflow" VALUES('546c0672a15225eba8e33e27f6d2e45b','public::embedded::mapped',1,'{"name":"mapped","tasks":[{"name":"numbers","body":{"kind":"python","ref":"__main__:numbers"},"full_name":"public::embedded::mapped::numbers","args":[{"type":"param","name":"count","path":[]}],"retry":{"delay":0.0,"jitter":0.0}},{"name":"stop_here","body":{"kind":"python","ref":"__main__:stop_here"},"full_name":"public::embedded::mapped::stop_here","args":[{"type":"task","name":"numbers","path":[]}],"depends_on":["numbers"],"retry":{"delay":0.0,"jitter":0.0},"map":{"over":[0]}}],"params":[{"name":"count","type":"int","schema":{"type":"integer"}}],"result":{"type":"task","name":"stop_here","path":[]}}',1.79491476771877717967e+09,1.79491476772062778476e+09);
INSERT INTO "workflow" VALUES('7aad7aa7b4885176da79208109a9ac67','public::embedded::branched',1,'{"name":"branched","tasks":[{"name":"choose","body":{"kind":"python","ref":"__main__:choose"},"full_name":"public::embedded::branched::choose","args":[{"type":"param","name":"number","path":[]}],"retry":{"delay":0.0,"jitter":0.0}},{"name":"left","body":{"kind":"python","ref":"__main__:left"},"full_name":"public::embedded::branched::left","args":[{"type":"task","name":"choose","path":[]}],"depends_on":["choose"],"retry":{"delay":0.0,"jitter":0.0}},{"name":"right","body":{"kind":"python","ref":"__main__:right"},"full_name":"public::embedded::branched::right","args":[{"type":"task","name":"choose","path":[]}],"depends_on":["choose"],"retry":{"delay":0.0,"jitter":0.0}},{"name":"joined","body":{"kind":"python","ref":"__main__:joined"},"full_name":"public::embedded::branched::joined","args":[{"type":"task","name":"left","path":[]},{"type":"task","name":"right","path":[]}],"depends_on":["left","right"],"retry":{"delay":0.0,"jitter":0.0}}],"params":[{"name":"number","type":"int","schema":{"type":"integer"}}],"result":{"type":"task","name":"joined","path":[]}}',1.79491476775108289723e+09,1.79491476775346302987e+09);
INSERT INTO "workflow" VALUES('8c55adfcdb08d10bd4de551d8a8299a6','public::embedded::deferred',1,'{"name":"deferred","tasks":[{"name":"deferred_once","body":{"kind":"python","ref":"__main__:deferred_once"},"full_name":"public::embedded::deferred::deferred_once","retry":{"delay":0.0,"jitter":0.0}}],"result":{"type":"task","name":"deferred_once","path":[]}}',1.79491476777537012103e+09,1.79491476777646183967e+09);
INSERT INTO "workflow" VALUES('e5e5e6a580e006ae86becd0f8df9f41d','public::embedded::outer',1,'{"name":"outer","tasks":[{"name":"inner","body":{"kind":"workflow","ref":"public::embedded::inner"},"full_name":"public::embedded::outer::inner","args":[{"type":"param","name":"number","path":[]}],"retry":{"delay":0.0,"jitter":0.0}},{"name":"double","body":{"kind":"python","ref":"__main__:double"},"full_name":"public::embedded::outer::double","args":[{"type":"task","name":"inner","path":[]}],"depends_on":["inner"],"retry":{"delay":0.0,"jitter":0.0}}],"params":[{"name":"number","type":"int","schema":{"type":"integer"}}],"result":{"type":"task","name":"double","path":[]}}',1.79491476779692435265e+09,1.79491476779910707475e+09);
INSERT INTO "workflow" VALUES('f023365f15d4d387753a39ec3654381a','public::embedded::inner',1,'{"name":"inner","tasks":[{"name":"stop_here","body":{"kind":"python","ref":"__main__:stop_here"},"full_name":"public::embedded::inner::stop_here","args":[{"type":"param","name":"number","path":[]}],"retry":{"delay":0.0,"jitter":0.0}}],"params":[{"name":"number","type":"int","schema":{"type":"integer"}}],"result":{"type":"task","name":"stop_here","path":[]}}',1.79491476781324124332e+09,1.79491476782324719425e+09);
CREATE UNIQUE INDEX run_key on run (workflow, key) where key is not null;
CREATE INDEX run_owner on run (owner) where owner is not null;
CREATE INDEX run_unowned on run (priority desc, submitted_at, id, workflow)
    where owner is null and state in ('pending', 'running', 'paused', 'cancelling');
CREATE INDEX run_of_workflow on run (workflow, id);
CREATE INDEX run_parent on run (parent_run) where parent_run is not null;
CREATE INDEX task_offered on task (poll_key, priority desc, run_id, pos) where poll_key is not null;
CREATE INDEX task_leased on task (lease_until, run_id) where lease_until is not null;
CREATE INDEX command_open on command (run_id) where done_at is null;
CREATE TRIGGER run_move before update of state on run for each row when
    not case old.state
        when 'running' then new.state = 'running' or new.state = 'completed' or new.state = 'failed'
            or new.state = 'paused' or new.state = 'cancelling' or new.state = 'cancelled'
        when 'pending' then new.state = 'pending' or new.state = 'running' or new.state = 'paused'
            or new.state = 'cancelling' or new.state = 'cancelled' or new.state = 'failed' or new.state = 'completed'
        when 'paused' then new.state = 'paused' or new.state = 'running' or new.state = 'cancelling'
            or new.state = 'cancelled' or new.state = 'failed' or new.state = 'completed'
        when 'cancelling' then new.state = 'cancelling' or new.state = 'cancelled' or new.state = 'failed'
        else false end
begin
    select raise(abort, 'illegal move of a run');
end;
CREATE INDEX log_of_run on log (run_id, id);
CREATE INDEX run_ended on run (finished_at, id) where finished_at is not null;
CREATE TRIGGER task_move before update of state on task for each row when
    new.attempt < old.attempt or not case old.state
        when 'running' then new.state = 'completed' or new.state = 'failed' or new.state = 'ready'
            or new.state = 'cancelled' or (new.state = 'running' and new.attempt > old.attempt)
        when 'pending' then new.state = 'running' or new.state = 'ready' or new.state = 'skipped'
            or new.state = 'cancelled' or new.state = 'pending'
            or ((new.state = 'completed' or new.state = 'failed') and new.attempt > old.attempt)
        when 'ready' then new.state = 'running' or new.state = 'cancelled'
            or (new.state = 'ready' and new.attempt = old.attempt)
        else false end
begin
    select raise(abort, 'illegal move of a task');
end;
DELETE FROM "sqlite_sequence";
COMMIT;
pragma user_version = 0;
pragma application_id = 0;
