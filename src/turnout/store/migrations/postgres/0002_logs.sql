-- What attempts say. Numbers in ``id`` order a run's lines as they became readable (see sql/postgres/logs.sql); ``seq`` is
-- the writer's own number, by which a line that is sent twice is kept once.
create table log (
    id bigint generated always as identity,
    run_id uuid not null,
    pos integer not null,
    attempt integer not null,
    seq bigint not null,
    stream text not null,
    at double precision not null,
    text text not null,
    primary key (run_id, pos, attempt, seq)
);
create index log_of_run on log (run_id, id);

-- Retention: the oldest of the runs that have ended. A version was last used when a session last said that it has it.
create index run_ended on run (finished_at, id) where finished_at is not null;
alter table workflow add column used_at double precision;

-- What one of several orchestrators does for all of them, and when it was last begun.
create table duty (
    name text primary key,
    session text not null,
    begun_at double precision not null
);
