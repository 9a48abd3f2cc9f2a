-- name: append_logs
-- There is one writer at a time, so ids are given in the order of the commits.
insert into log (run_id, pos, attempt, seq, stream, at, text)
select c.value ->> 'run_id', c.value ->> 'pos', c.value ->> 'attempt', c.value ->> 'seq', c.value ->> 'stream',
    cast(c.value ->> 'at' as real), c.value ->> 'text'
from json_each(:lines) as c
where exists (select 1 from run where run.id = c.value ->> 'run_id')
order by c.key
on conflict do nothing
