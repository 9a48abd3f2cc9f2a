-- name: record_routing
insert into routing (session, config, created_at) values (:session, :config, :now) returning number

-- name: shared_routing
select version, config, updated_at, updated_by from shared_routing

-- name: put_shared_routing
update shared_routing set version = version + 1, config = :config, updated_at = :now, updated_by = :actor
returning version, config, updated_at, updated_by
