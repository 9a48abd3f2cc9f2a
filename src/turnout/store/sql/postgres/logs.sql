-- name: lock_log_buckets
-- Two writers of one run's lines take turns, from before their ids are given until they have committed. So a run's ids
-- become visible in their order, and a reader that goes on after the last one it saw misses nothing.
select pg_advisory_xact_lock(7355608, bucket::integer) from json_array_elements_text(:buckets::json) as bucket

-- name: append_logs
-- The run's key is locked, so that its deletion and a late line exclude one another.
with kept as materialized (select id from run where id in {runs uuid} order by id for key share)
insert into log (run_id, pos, attempt, seq, stream, at, text)
select c.run_id, c.pos, c.attempt, c.seq, c.stream, c.at, c.text
from rows from (json_to_recordset(:lines::json) as (run_id uuid, pos integer, attempt integer, seq bigint,
        stream text, at double precision, text text)) with ordinality as
        c(run_id, pos, attempt, seq, stream, at, text, place)
    join kept on kept.id = c.run_id
order by c.place
on conflict do nothing
