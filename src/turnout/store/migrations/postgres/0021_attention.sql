-- Runs that failed since a time: few of many, and only they are in this index.
create index run_failed on run (finished_at, id) where state = 'failed';

-- 1: the session was declared dead; 0: it has left by itself, or lives.
alter table session add column lost integer not null default 0;
