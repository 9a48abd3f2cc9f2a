-- name: renew_and_count
-- A renewal and the number of others that are alive, in one round trip.
with renewed as (
    update session set lease = :lease, lease_until = :lease_now + :lease, health = coalesce(:health, health)
    where id = :id and ended_at is null
    returning id
)
select exists (select 1 from renewed),
    (select count(*) from session where ended_at is null and lease_until > :lease_now and id <> :id)
