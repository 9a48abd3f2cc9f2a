-- name: begin_access
-- Of several callers at once, one gets a row: the others wait for its commit and then find theirs taken.
insert into access_begun (id, at) values (1, :now) on conflict (id) do nothing returning id

-- name: add_token
insert into access_token (id, name, role, digest, created_at, created_by, expires_at, parent)
select :id, :name, :role, :digest, :now, :created_by, :now + cast(:lifetime as /*pg double precision */ /*sqlite real */), :parent
where cast(:parent as text) is null or exists (select 1 from access_token as parent
    where parent.id = :parent and parent.revoked_at is null and (parent.expires_at is null or parent.expires_at > :now))
returning id

-- name: forget_browsers
delete from access_token where parent is not null and (expires_at < :now or revoked_at is not null)

-- name: token
select token.id, token.name, token.role,
    case when token.revoked_at is not null or parent.revoked_at is not null then 'revoked'
        when token.expires_at <= :now or parent.expires_at <= :now then 'expired' else 'usable' end,
    token.created_at, token.created_by, token.expires_at, token.last_used_at, token.revoked_at, token.parent
from access_token as token left join access_token as parent on parent.id = token.parent
where token.digest = :digest

-- name: tokens
select id, name, role,
    case when revoked_at is not null then 'revoked' when expires_at <= :now then 'expired' else 'usable' end,
    created_at, created_by, expires_at, last_used_at, revoked_at, parent
from access_token where parent is null
order by created_at, id

-- name: usable_tokens
select token.id
from access_token as token left join access_token as parent on parent.id = token.parent
where token.id in {ids} and token.revoked_at is null and parent.revoked_at is null
    and (token.expires_at is null or token.expires_at > :now) and (parent.expires_at is null or parent.expires_at > :now)

-- name: any_usable_token
select 1 from access_token
where parent is null and revoked_at is null and (expires_at is null or expires_at > :now)
limit 1

-- name: revoke_token
update access_token set revoked_at = :now
where (id = :id or parent = :id) and revoked_at is null
returning id

-- name: record_use
update access_token set last_used_at = :at where id = :id and (last_used_at is null or last_used_at < :at)

-- name: add_audit
insert into audit (at, actor, actor_name, method, target, status, code, request_id, address)
values (:now, :actor, :actor_name, :method, :target, :status, :code, :request_id, :address)

-- name: audit
select at, actor, actor_name, method, target, status, code, request_id, address, id
from audit
where id < :before and (cast(:actor as text) = '' or actor = :actor)
order by id desc
limit :limit

-- name: prune_audit
delete from audit where at < :now - :age returning 1
